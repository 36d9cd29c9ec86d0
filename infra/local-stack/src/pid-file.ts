import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The stack that has claimed the pid file at `path` and still runs; undefined when there is none. */
export function runningStack(path: string): number | undefined {
  const pid = readPid(path);
  // Our own id can only be a namesake's: in a container, process ids come back after every restart.
  return pid !== undefined && pid !== process.pid && looksLikeStack(pid) ? pid : undefined;
}

/**
 * Claims the pid file. Two stacks on one data directory would be two Redis servers writing one log, which destroys it;
 * so this is refused whatever their ports are. Returns the pid of the other stack, or undefined when the claim is ours.
 */
export function claimPidFile(path: string): number | undefined {
  mkdirSync(dirname(path), { recursive: true });
  // A stale file is removed and the claim repeated once; if somebody was faster, the file names them now.
  for (let round = 0; round < 2; round += 1) {
    try {
      writeFileSync(path, `${process.pid}\n`, { flag: 'wx' });
      return undefined;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const other = runningStack(path);
    if (other !== undefined) return other;
    rmSync(path, { force: true });
  }
  return readPid(path) ?? 0;
}

/** Gives the claim up, if it is still ours. */
export function releasePidFile(path: string): void {
  if (readPid(path) === process.pid) rmSync(path, { force: true });
}

function readPid(path: string): number | undefined {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined; // missing
  }
}

/**
 * A process id comes back after a restart of the machine and then belongs to anybody: only this program counts. When the
 * command cannot be found out, the answer is yes, since a wrong no would cost data.
 */
function looksLikeStack(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
  }
  const command = commandOf(pid);
  return command === undefined || command === '' || command.includes('local-stack');
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return stdout ?? undefined; // no /proc and no ps
  }
}
