import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from '../src/redis-binary.ts';
import type { ServicePlan, StackPlan } from '../src/settings.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

export interface StackRig {
  readonly plan: StackPlan;
  /**
   * Starts a stack as a process of its own, in a group of its own as a shell would; `underNpm`: below a shell, as npm
   * would, whose process id is then the one returned.
   */
  readonly start: (options?: { readonly plan?: StackPlan; readonly underNpm?: boolean }) => StackProcess;
  /** What the stand-ins noted, oldest first, as "name event". */
  readonly events: () => readonly string[];
  /** Process id of the stand-in that last noted `event`. */
  readonly pidOf: (event: string) => number;
  readonly close: () => Promise<void>;
}

export interface StackProcess {
  readonly pid: number;
  readonly output: () => string;
  readonly up: () => Promise<void>;
  readonly exitCode: () => Promise<number | null>;
}

/** A stack of two stand-ins: `erp` in stage 1 and `ingest` in stage 2. `env` goes to the second. */
export async function rigStack(env: NodeJS.ProcessEnv = {}): Promise<StackRig> {
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-stack-'));
  const eventsFile = join(dir, 'events');
  const service = async (name: string, stage: number, extra: NodeJS.ProcessEnv): Promise<ServicePlan> => {
    const port = await freePort();
    return {
      name,
      stage,
      main: join(import.meta.dirname, 'fixtures/service.ts'),
      env: { NAME: name, PORT: String(port), EVENTS: eventsFile, ...extra },
      readyUrl: `http://127.0.0.1:${port}/readyz`,
      ports: [{ port, use: name }],
    };
  };
  const plan: StackPlan = {
    dataDir: join(dir, 'data'),
    host: '127.0.0.1',
    redisPort: await freePort(),
    redisBinary: findRedisServer(process) ?? '',
    services: [await service('erp', 1, {}), await service('ingest', 2, env)],
    banner: 'BANNER',
  };
  const started: ChildProcess[] = [];
  const notes = (): string[] => {
    try {
      return readFileSync(eventsFile, 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  return {
    plan,
    start(options = {}) {
      const main = join(import.meta.dirname, 'fixtures/stack.ts');
      const args = [process.execPath, main, JSON.stringify(options.plan ?? plan)];
      const [command = '', ...rest] =
        options.underNpm === true ? ['/bin/sh', '-c', '"$@"; true', 'sh', ...args] : args;
      const { npm_lifecycle_event: _, ...outer } = process.env;
      const child = spawn(command, rest, {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: options.underNpm === true ? { ...outer, npm_lifecycle_event: 'start' } : outer,
      });
      started.push(child);
      return follow(child);
    },
    events: () => notes().map((line) => line.split(' ').slice(0, 2).join(' ')),
    pidOf: (event) =>
      Number(
        notes()
          .findLast((line) => line.startsWith(`${event} `))
          ?.split(' ')[2],
      ),
    async close() {
      // The guard of each stack then stops what it ran.
      for (const child of started) killGroup(child.pid);
      await waitUntil(() => notes().every((line) => !isAlive(Number(line.split(' ')[2]))), {
        what: 'the stand-ins to end',
      });
      rmSync(dir, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}

/** A stack and the shell that it may run below. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

function follow(child: ChildProcess): StackProcess {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    pid: child.pid ?? 0,
    output: () => output,
    exitCode: () => exited,
    async up() {
      await waitUntil(() => output.includes('BANNER'), { what: 'the stack to be ready', timeoutMs: 20_000 });
    },
  };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

/** Where nothing reaps orphans, the dead stay in the process table. */
function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
