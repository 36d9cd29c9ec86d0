import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { GUARD_MARK } from './guard.ts';

/** The stack that has claimed the pid file at `path` and still runs; undefined when there is none. */
export function runningStack(path: string): number | undefined {
  const { stack } = readPids(path);
  // Our own id can only be a namesake's: in a container, process ids come back after every restart.
  return stack !== undefined && stack !== process.pid && runsAs(stack, STACK_MARK) ? stack : undefined;
}

/** The stack that has claimed the pid file and died, while its guard still stops what it ran; else undefined. */
export function stoppingStack(path: string): number | undefined {
  const { stack, guard } = readPids(path);
  const isStopping = guard !== undefined && runningStack(path) === undefined && runsAs(guard, GUARD_MARK);
  return isStopping ? stack : undefined;
}

/** Notes the guard of the stack that holds the claim, for `stoppingStack`. */
export function noteGuard(path: string, guard: number): void {
  appendFileSync(path, `${guard}\n`); // a claim that was rewritten would be empty for a moment, and lost to who reads then
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
  return readPids(path).stack ?? 0;
}

/** Gives the claim up, if it is still ours. */
export function releasePidFile(path: string): void {
  if (readPids(path).stack === process.pid) rmSync(path, { force: true });
}

/** What the command line of a stack holds. */
const STACK_MARK = 'local-stack';

const toPid = (line = ''): number | undefined => (/^[1-9]\d{0,9}$/.test(line) ? Number(line) : undefined);

/** The stack's id in the first line and its guard's in the second, where they are. */
function readPids(path: string): { readonly stack: number | undefined; readonly guard: number | undefined } {
  try {
    const [stack, guard] = readFileSync(path, 'utf8').split('\n');
    return { stack: toPid(stack), guard: toPid(guard) };
  } catch {
    return { stack: undefined, guard: undefined }; // missing
  }
}

/**
 * True when `pid` runs with `mark` in its command line: a process id comes back after a restart of the machine and then
 * belongs to anybody. When the command cannot be found out, the answer is yes, since a wrong no would cost data.
 */
function runsAs(pid: number, mark: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
  }
  if (isZombie(pid)) return false;
  const command = commandOf(pid);
  return command === undefined || command === '' || command.includes(mark);
}

/** Where nothing reaps orphans (some containers) the dead stay in the process table. They hold neither files nor ports. */
function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false; // no /proc: an init that reaps
  }
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
