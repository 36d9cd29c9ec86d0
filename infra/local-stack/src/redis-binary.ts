import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { AppError } from '@breakwater/runtime/errors';
import { installWithApt } from './apt.ts';
import { directoriesOf, isExecutable, type Machine } from './machine.ts';

/** Where packages put servers that are not on every user's PATH. */
const USUAL_DIRECTORIES: readonly string[] = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/usr/sbin'];
/** BullMQ needs Redis 6.2. Valkey began at 7.2. */
const VERSION_MIN = [6, 2] as const;

/**
 * Path of the first redis-server or valkey-server in PATH or `directories` that is new enough; undefined when there is
 * none.
 */
export function findRedisServer(machine: Machine, directories = USUAL_DIRECTORIES): string | undefined {
  return candidates(machine, directories).find((binary) => isNewEnough(versionOf(binary)));
}

/**
 * As findRedisServer, but installs Redis with apt-get where that needs no password. `say` takes progress lines.
 * Throws AppError redis_unavailable that tells a person exactly what to install.
 */
export function ensureRedisServer(
  machine: Machine,
  say: (line: string) => void,
  directories = USUAL_DIRECTORIES,
): string {
  const found = findRedisServer(machine, directories);
  if (found !== undefined) return found;
  const old = candidates(machine, directories);
  // One that is too old would be installed again.
  const failure = old.length === 0 ? installWithApt(machine, 'redis-server', say) : undefined;
  const installed = findRedisServer(machine, directories);
  if (installed !== undefined) return installed;
  throw new AppError('redis_unavailable', [failure, whatIsMissing(machine, old)].filter(Boolean).join('\n'));
}

function candidates(machine: Machine, directories: readonly string[]): readonly string[] {
  const all = [...new Set([...directoriesOf(machine), ...directories])];
  return ['redis-server', 'valkey-server']
    .flatMap((name) => all.map((directory) => join(directory, name)))
    .filter(isExecutable);
}

/** "7.0.15" from "Redis server v=7.0.15 sha=...". */
function versionOf(binary: string): string | undefined {
  const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  return /\bv=(\d+\.\d+[.\d]*)/.exec(stdout ?? '')?.[1];
}

function isNewEnough(version: string | undefined): boolean {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  return major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]);
}

const LINUX_ADVICE =
  'Install it: sudo apt-get install redis-server (Debian, Ubuntu), sudo dnf install redis or valkey (Fedora, RHEL), ' +
  'apk add redis (Alpine), sudo pacman -S valkey (Arch).';

function whatIsMissing(machine: Machine, old: readonly string[]): string {
  const versions = old.map((binary) => `${binary} is ${versionOf(binary) ?? 'not answering'}`);
  const found = versions.length === 0 ? 'no redis-server or valkey-server was found' : versions.join(', ');
  return `Breakwater needs Redis 6.2 or newer (or Valkey), but ${found}. ${advice(machine.platform)} Then run the same command again.`;
}

function advice(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return 'Install it: brew install redis.';
  if (platform === 'win32')
    return 'Redis does not run on Windows: install WSL (wsl --install) and work inside it.';
  return LINUX_ADVICE;
}
