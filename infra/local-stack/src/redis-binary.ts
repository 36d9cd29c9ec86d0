import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { AppError } from '@breakwater/runtime/errors';

/** What the search reads of `process`, which can be passed as it is. */
export interface Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly getuid?: () => number;
}

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
  const failure = old.length === 0 ? installWithApt(machine, say) : undefined;
  const installed = findRedisServer(machine, directories);
  if (installed !== undefined) return installed;
  throw new AppError('redis_unavailable', [failure, whatIsMissing(machine, old)].filter(Boolean).join('\n'));
}

const pathOf = (machine: Machine): readonly string[] =>
  (machine.env['PATH'] ?? '').split(delimiter).filter(Boolean);

function candidates(machine: Machine, directories: readonly string[]): readonly string[] {
  const all = [...new Set([...pathOf(machine), ...directories])];
  return ['redis-server', 'valkey-server']
    .flatMap((name) => all.map((directory) => join(directory, name)))
    .filter(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
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

/**
 * The package starts a Redis of its own on 6379 where systemd runs. A policy that forbids it is put in place for the
 * installation only, and only where the administrator has none; after that it must not come up at the next boot either.
 * A repository that cannot be refreshed (a stale third-party one, often) need not stop the installation.
 */
const APT_SCRIPT = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' HUP INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends redis-server || exit
if [ -d /run/systemd/system ]; then systemctl disable redis-server || true; fi
`;

/** Undefined when it installed something or does not apply here; otherwise what went wrong. */
function installWithApt(machine: Machine, say: (line: string) => void): string | undefined {
  const { env } = machine;
  const hasApt = pathOf(machine).some((directory) => isExecutable(join(directory, 'apt-get')));
  if (machine.platform !== 'linux' || !hasApt) return undefined;
  const isRoot = machine.getuid?.() === 0;
  // -n: fails instead of asking for a password.
  if (!isRoot && spawnSync('sudo', ['-n', 'true'], { env, stdio: 'ignore' }).status !== 0) return undefined;
  say('installing redis-server with apt-get (about a minute) ...');
  const script = ['/bin/sh', '-c', APT_SCRIPT];
  const [command = '', ...args] = isRoot ? script : ['sudo', '-n', ...script];
  const result = spawnSync(command, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (result.status === 0) return undefined;
  return `${result.stdout}${result.stderr}apt-get could not install redis-server, see above.`;
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
