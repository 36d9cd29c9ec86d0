import { accessSync, constants } from 'node:fs';
import { delimiter } from 'node:path';

/** What a search for programs reads of `process`, which can be passed as it is. */
export interface Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly getuid?: () => number;
}

/** The directories of its PATH. */
export const directoriesOf = (machine: Machine): readonly string[] =>
  (machine.env['PATH'] ?? '').split(delimiter).filter(Boolean);

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
