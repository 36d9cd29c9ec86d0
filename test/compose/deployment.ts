import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../support/free-port.ts';
import { hasImage } from '../support/engine.ts';

const root = resolve(import.meta.dirname, '../..');

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A deployment by docker compose under a project name, ports and a network of its own. */
export interface Deployment {
  /** `docker compose <args>`; resolves whatever the exit code is. */
  readonly compose: (...args: string[]) => Promise<Result>;
  /** The same; throws unless it exits with 0. Resolves to stdout. */
  readonly run: (...args: string[]) => Promise<string>;
  /** Any command of the CLI with --json, in a container. */
  readonly json: <T>(...args: string[]) => Promise<T>;
  /** Where ingest is published, whatever happens to its replicas. */
  readonly ingestUrl: string;
  /** Ids of a service's running containers. */
  readonly containers: (service: string) => Promise<readonly string[]>;
  /** Plain `docker <args>`; throws unless it exits with 0. */
  readonly docker: (...args: string[]) => Promise<string>;
  readonly destroy: () => Promise<void>;
}

/**
 * A subnet for the profile `demo`. The engine takes over the machine's route to it, so it is none that this machine is in;
 * each run draws its own, for two of them cannot have the same.
 */
function freeSubnet(): string {
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
  for (;;) {
    const prefix = `10.${randomInt(64, 255)}.${randomInt(1, 255)}.`;
    if (!own.some((address) => address.startsWith(prefix.slice(0, prefix.indexOf('.', 3) + 1))))
      return `${prefix}0/24`;
  }
}

export async function createDeployment(): Promise<Deployment> {
  const ingestPort = await freePort();
  const files = ['docker-compose.yml'];
  if (!hasImage('grafana/grafana:11.6.4')) files.push('test/compose/without-grafana.yml');
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    COMPOSE_PROJECT_NAME: `breakwater-test-${process.pid}`,
    COMPOSE_FILE: files.join(':'),
    COMPOSE_PROGRESS: 'quiet',
    INGEST_PORT: String(ingestPort),
    CONSOLE_PORT: String(await freePort()),
    DEMO_NETWORK: freeSubnet(),
    RETRY_SCHEDULE: '0s,1s,2s,4s,8s,15s', // a storm with kills must not take minutes
  };
  const docker = (...args: string[]): Promise<Result> => execute(args, env);
  const must = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await docker(...args);
    if (code !== 0) throw new Error(`docker ${args.join(' ')} ended with code ${code}:\n${stderr}${stdout}`);
    return stdout;
  };
  const compose = (...args: string[]): Promise<Result> => docker('compose', ...args);
  const run = (...args: string[]): Promise<string> => must('compose', ...args);
  const lines = (output: string): string[] =>
    output
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
  const containers = async (service: string): Promise<string[]> => lines(await run('ps', '-q', service));
  return {
    compose,
    run,
    docker: must,
    ingestUrl: `http://127.0.0.1:${ingestPort}`,
    containers,
    async json<T>(...args: string[]) {
      return JSON.parse(await run('run', '--rm', '-T', 'cli', ...args, '--json')) as T;
    },
    destroy: async () =>
      void (await compose('--profile', 'demo', '--profile', 'tools', 'down', '--volumes', '--timeout', '20')),
  };
}

async function execute(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Result> {
  const child = spawn('docker', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
