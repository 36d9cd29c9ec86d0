// Plain JavaScript for any Node from 16 on.
import { mkdirSync, readdirSync, rmdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Between making the directory and writing the owner into it lie microseconds; an owner that takes longer is dead. */
const OWNERLESS_MS = 5000;

/**
 * Holds an exclusive lock, a directory that contains one file named after its owner's process id, while `work` runs.
 * A lock whose owner is dead is taken over. Every step is one atomic file system call that only one process can win;
 * a process that finds a second owner beside itself withdraws, so two never hold the lock together.
 * `onWait` is called once, with the owner's id, when somebody else holds it. Throws after `timeoutMs`.
 */
export async function withLock(directory, { timeoutMs, onWait }, work) {
  const mine = join(directory, String(process.pid));
  const deadline = Date.now() + timeoutMs;
  let told = false;
  mkdirSync(dirname(directory), { recursive: true });
  while (!take(directory, mine)) {
    const owner = liveOwner(directory);
    if (owner !== undefined && !told) {
      told = true;
      onWait(owner);
    }
    if (Date.now() > deadline) throw new Error(`process ${owner} holds ${directory} for too long`);
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
  }
  try {
    return await work();
  } finally {
    attempt(() => unlinkSync(mine));
    attempt(() => rmdirSync(directory));
  }
}

function take(directory, mine) {
  if (!attempt(() => mkdirSync(directory))) return false;
  if (!attempt(() => writeFileSync(mine, ''))) return false; // somebody thought us dead and removed the directory
  if (owners(directory).length === 1) return true;
  attempt(() => unlinkSync(mine));
  return false;
}

/** The process that holds the lock. Removes what a dead one left, so that the next `take` can succeed. */
function liveOwner(directory) {
  const pids = owners(directory);
  for (const pid of pids) {
    // Our own id can only be a namesake's: in a container, process ids come back after every restart.
    if (Number(pid) !== process.pid && isAlive(Number(pid))) return Number(pid);
    attempt(() => unlinkSync(join(directory, pid)));
  }
  const abandoned =
    pids.length > 0 ||
    attempt(
      () => statSync(directory),
      ({ mtimeMs }) => Date.now() - mtimeMs > OWNERLESS_MS,
    );
  if (abandoned) attempt(() => rmdirSync(directory)); // refused by the system unless it is empty
  return undefined;
}

function owners(directory) {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Lost races are expected; anything else (a read-only disk, say) must be seen. */
const LOST = new Set(['EEXIST', 'ENOENT', 'ENOTEMPTY']);

function attempt(step, judge = () => true) {
  try {
    return judge(step());
  } catch (error) {
    if (LOST.has(error.code)) return false;
    throw error;
  }
}
