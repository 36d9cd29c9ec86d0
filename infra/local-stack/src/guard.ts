import { spawn } from 'node:child_process';

/** Stops processes that this one started, should this one die without the chance to do so (kill -9, a crash). */
export interface Guard {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  /** Groups are stopped in order of `stage`, highest first; within one, all at once. */
  readonly watch: (pid: number, stage: number) => void;
  readonly forget: (pid: number) => void;
  /** Ends the guard. Whatever it still watches is stopped, as after a crash. */
  readonly close: () => void;
}

/**
 * Reads the current list from its stdin, one line per change: groups separated by spaces, ids in a group by commas. At
 * the end of the input, which comes however the parent dies, it stops what the last line names: SIGTERM, 45 s, SIGKILL.
 * Where nothing reaps orphans (some containers) the dead stay as zombies, which kill -0 takes for living: hence /proc.
 */
const SCRIPT = `
trap '' HUP INT TERM
alive() {
  for pid in $1; do
    kill -0 "$pid" 2>/dev/null && ! grep -qs '^State:[[:space:]]*Z' "/proc/$pid/status" && return 0
  done
  return 1
}
last=
while IFS= read -r line; do last=$line; done
for group in $last; do
  pids=$(printf %s "$group" | tr , ' ')
  for pid in $pids; do kill -TERM "$pid" 2>/dev/null; done
  left=450
  while alive "$pids" && [ "$left" -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
  for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
done
`;

/** What the command line of a guard holds, and no other's. */
export const GUARD_MARK = 'breakwater-guard';

/** Starts the guard, a small shell in a session of its own, where no Ctrl-C reaches it. */
export function startGuard(): Guard {
  const stages = new Map<number, number>();
  const shell = spawn('/bin/sh', ['-c', SCRIPT, GUARD_MARK], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  // A guard that was killed leaves a broken pipe. The stack goes on without a net.
  shell.on('error', () => undefined);
  shell.stdin.on('error', () => undefined);
  const tell = (): void => {
    const groups = Map.groupBy(stages, ([, stage]) => stage);
    const ordered = [...groups].toSorted(([a], [b]) => b - a);
    shell.stdin.write(`${ordered.map(([, members]) => members.map(([pid]) => pid).join(',')).join(' ')}\n`);
  };
  return {
    pid: shell.pid,
    watch(pid, stage) {
      stages.set(pid, stage);
      tell();
    },
    forget(pid) {
      if (stages.delete(pid)) tell();
    },
    close: () => shell.stdin.end(),
  };
}
