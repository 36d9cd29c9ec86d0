import { test as run } from '@jest/globals';

type Declare = (title: string, body: () => Promise<void> | void, timeoutMs?: number) => void;

/** `test` itself, or, where `reason` says why it cannot run here, a skipped test; npm test prints the reason. */
export function testUnless(reason: string | undefined): Declare {
  const declare: Declare = reason === undefined ? run : run.skip;
  return (title, body, timeoutMs) =>
    declare(reason === undefined ? title : `${title} [skipped: ${reason}]`, body, timeoutMs);
}
