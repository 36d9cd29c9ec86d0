import type { StackControl } from './stack.ts';

/** What a stack uses of `process`. */
export type Terminal = Pick<NodeJS.Process, 'stdout' | 'on' | 'ppid' | 'env'>;

const PARENT_CHECK_MS = 500;

/**
 * Writes to the terminal and turns its signals into the two steps of a stop: the first SIGINT, SIGTERM or SIGHUP stops in
 * order, a SIGINT after that kills. A further SIGTERM changes nothing, since npm and service managers repeat theirs.
 * Under npm, the death of the parent is a SIGTERM too: nobody could stop the stack from the terminal any more.
 */
export function stackControl(terminal: Terminal): StackControl {
  const stop = new AbortController();
  const kill = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGINT' && stop.signal.aborted) kill.abort();
    stop.abort();
  };
  terminal.on('SIGINT', onSignal);
  terminal.on('SIGTERM', onSignal);
  terminal.on('SIGHUP', onSignal);
  const parent = terminal.ppid;
  const watch = setInterval(() => {
    if (terminal.ppid !== parent) stop.abort();
  }, PARENT_CHECK_MS).unref();
  if (!terminal.env['npm_lifecycle_event']) clearInterval(watch); // under nohup and the like, parents come and go
  // A terminal that was closed, or a reader that went away, must not keep the stack from stopping in order.
  terminal.stdout.on('error', () => undefined);
  const write = (line: string): void => void terminal.stdout.write(`${line}\n`);
  return { say: (line) => write(`breakwater: ${line}`), pass: write, stop: stop.signal, kill: kill.signal };
}
