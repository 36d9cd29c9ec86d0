import type { Readable } from 'node:stream';

/** Everything that a command knows of its process. `main.ts` fills it in from the real one, tests from their own. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: { readonly write: (text: string) => unknown };
  readonly stderr: NodeJS.WritableStream;
  /** A person watches stderr. */
  readonly stderrIsTty: boolean;
  /** A person types into stdin. */
  readonly stdinIsTty: boolean;
  readonly env: NodeJS.ProcessEnv;
  /** Name of the person's account on this machine; the audit log says `cli:<user>`. */
  readonly user: string;
  /** Aborted by Ctrl-C: long work stops at the next safe point and says how far it came. */
  readonly signal: AbortSignal;
  /** ms since the epoch. */
  readonly now: () => number;
}
