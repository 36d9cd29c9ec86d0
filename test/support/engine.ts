import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** Brings an engine and the base images where a machine reaches no container registry; not part of Breakwater. */
const ENGINE_TOOL = resolve(import.meta.dirname, '../../../shared/tools/engine-up.sh');
const ENGINE_TIMEOUT_MS = 15 * 60_000; // it installs packages and builds five images the first time

const works = (...args: string[]): boolean =>
  spawnSync('docker', args, { stdio: 'ignore', timeout: 30_000 }).status === 0;

/** Undefined when there is a Docker engine with Compose v2 to run containers on; otherwise why there is none. */
export function engineMissing(): string | undefined {
  if (process.platform !== 'linux') return 'containers are tested on Linux only';
  if (works('info') && works('compose', 'version') && works('image', 'inspect', 'node:24-bookworm-slim'))
    return undefined;
  if (existsSync(ENGINE_TOOL) && process.getuid?.() === 0) {
    const { status, stderr } = spawnSync('bash', [ENGINE_TOOL], {
      encoding: 'utf8',
      timeout: ENGINE_TIMEOUT_MS,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return status === 0
      ? undefined
      : `no Docker engine could be started: ${stderr.trim().split('\n').at(-1)}`;
  }
  return works('info') && works('compose', 'version')
    ? undefined
    : 'there is no Docker engine with Compose v2 on this machine';
}

/** True where Grafana's image is there or can be had. */
export const hasImage = (image: string): boolean =>
  works('image', 'inspect', image) || works('pull', '-q', image);
