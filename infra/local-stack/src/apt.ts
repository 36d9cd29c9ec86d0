import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { directoriesOf, isExecutable, type Machine } from './machine.ts';

/**
 * $1 is the package, and the service of the same name. Such a package starts its server where systemd runs. A policy that
 * forbids it is put in place for the installation only, and only where the administrator has none; after that it must not
 * come up at the next boot either. A repository that cannot be refreshed (a stale third-party one, often) need not stop the
 * installation.
 */
const SCRIPT = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' HUP INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "$1" || exit
if [ -d /run/systemd/system ]; then systemctl disable "$1" || true; fi
`;

/** True where apt-get can install without asking for a password. */
export function canInstallWithApt(machine: Machine): boolean {
  const hasApt = directoriesOf(machine).some((directory) => isExecutable(join(directory, 'apt-get')));
  if (machine.platform !== 'linux' || !hasApt) return false;
  const { env } = machine;
  // -n: fails instead of asking for a password.
  return machine.getuid?.() === 0 || spawnSync('sudo', ['-n', 'true'], { env, stdio: 'ignore' }).status === 0;
}

/**
 * Installs a package without letting its server run. Undefined when it did, or where it cannot be done; otherwise what went
 * wrong. `say` takes a line of progress.
 */
export function installWithApt(
  machine: Machine,
  name: string,
  say: (line: string) => void,
): string | undefined {
  if (!canInstallWithApt(machine)) return undefined;
  say(`installing ${name} with apt-get (about a minute) ...`);
  const script = ['/bin/sh', '-c', SCRIPT, 'install', name];
  const [command = '', ...args] = machine.getuid?.() === 0 ? script : ['sudo', '-n', ...script];
  const result = spawnSync(command, args, {
    env: machine.env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (result.status === 0) return undefined;
  return `${result.stdout}${result.stderr}apt-get could not install ${name}, see above.`;
}
