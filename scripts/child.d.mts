import type { SpawnOptions } from 'node:child_process';

export interface ChildResult {
  /** As a shell gives it: 128 + n after signal n, 127 when the program could not be started. */
  readonly code: number;
  /** Set when it died of one. */
  readonly signal?: string;
  readonly output: string;
  /** This process was told to stop while the child ran. */
  readonly interrupted: boolean;
}

export function runChild(
  command: string,
  args: readonly string[],
  options?: SpawnOptions & { readonly capture?: boolean },
): Promise<ChildResult>;
