import type { StackControl } from './stack.ts';

/** What a stack uses of `process`. */
export type Terminal = Pick<NodeJS.Process, 'stdout' | 'on'>;

/**
 * Writes to the terminal and turns its signals into the two steps of a stop: the first SIGINT, SIGTERM or SIGHUP stops in
 * order, a SIGINT after that kills. A further SIGTERM changes nothing, since npm and service managers repeat theirs.
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
  // A terminal that was closed, or a reader that went away, must not keep the stack from stopping in order.
  terminal.stdout.on('error', () => undefined);
  const write = (line: string): void => void terminal.stdout.write(`${line}\n`);
  return { say: (line) => write(`breakwater: ${line}`), pass: write, stop: stop.signal, kill: kill.signal };
}
