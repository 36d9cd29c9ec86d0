import { createInterface } from 'node:readline/promises';
import { printable } from '@breakwater/core/printable';
import { AppError } from '@breakwater/runtime/errors';
import type { Io } from './io.ts';

/** Does a person read what is asked, and may answer? A script has said all that it wants on its command line. */
export const isAttended = ({ stdinIsTty, stderrIsTty }: Pick<Io, 'stdinIsTty' | 'stderrIsTty'>): boolean =>
  stdinIsTty && stderrIsTty;

/** Asks a question on stderr, since stdout is the result's. Throws AppError not_confirmed for any answer but yes. */
export async function ask({ stdin, stderr, signal }: Io, question: string): Promise<void> {
  const lines = createInterface({ input: stdin, output: stderr, terminal: false });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    const answer = await lines.question(`${printable(question)} [y/N] `, {
      signal: AbortSignal.any([signal, ended.signal]),
    });
    if (/^y(es)?$/i.test(answer.trim())) return;
  } catch (error) {
    if (!signal.aborted && !ended.signal.aborted) throw error;
    stderr.write('\n'); // the cursor is behind the question
  } finally {
    lines.close();
  }
  throw new AppError('not_confirmed', 'Nothing was changed.');
}
