import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startSimulator } from '@breakwater/erp-simulator/app';
import { type Guard, startGuard } from '@breakwater/local-stack/guard';
import { type Child, probeHttp, spawnChild, waitReady } from '@breakwater/local-stack/processes';
import { createLogger } from '@breakwater/runtime/logger';
import { freePort } from './free-port.ts';
import { type OwnRedis, startOwnRedis } from './redis.ts';
import { signedPost } from './webhook.ts';

const root = join(import.meta.dirname, '../..');
export type ServiceName = 'ingest' | 'dispatcher' | 'erp-consumer' | 'console';
const ALL: readonly ServiceName[] = ['ingest', 'dispatcher', 'erp-consumer', 'console'];

export interface RigOptions {
  /** RETRY_SCHEDULE; the default schedule when left out. */
  readonly schedule?: string;
  /** YAML instead of the demonstration's configuration. */
  readonly config?: string;
  readonly services?: readonly ServiceName[];
  readonly env?: Readonly<Record<string, string>>;
  /** Called with every line that a service writes. */
  readonly onLine?: (service: ServiceName, line: string) => void;
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A whole deployment: a Redis of its own, the ERP simulator in this process, the services as child processes. */
export interface Rig {
  readonly redis: OwnRedis;
  readonly simulatorUrl: string;
  readonly ingestUrl: string;
  readonly consoleUrl: string;
  readonly opsUrl: (service: ServiceName) => string;
  readonly env: NodeJS.ProcessEnv;
  /** Sends one signed event of the source demo-payments. */
  readonly send: (event: Record<string, unknown>) => Promise<Response>;
  /** Replaces the simulator's faults. */
  readonly faults: (faults: Record<string, unknown>) => Promise<void>;
  readonly stats: () => Promise<{ postings: number; distinctReferences: number; duplicates: number }>;
  /** Runs the CLI to its end. */
  readonly cli: (...args: string[]) => Promise<CliResult>;
  /** The CLI's one JSON document; throws unless it exits with 0. */
  readonly json: <T>(...args: string[]) => Promise<T>;
  /** Starts a service that does not run. */
  readonly start: (service: ServiceName) => Promise<void>;
  /** Starts one more replica of a service and resolves to it; `url`: where it listens, if it is one that does. */
  readonly addReplica: (
    service: ServiceName,
  ) => Promise<Pick<Child, 'kill' | 'pid'> & { readonly url: string }>;
  readonly kill: (service: ServiceName) => Promise<void>;
  readonly stop: (service: ServiceName) => Promise<void>;
  /** Of the process that runs now, or ran last. */
  readonly pid: (service: ServiceName) => number | undefined;
  /** Last lines of a service's log. */
  readonly log: (service: ServiceName) => readonly string[];
  readonly close: () => Promise<void>;
}

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const stack = new AsyncDisposableStack();
  try {
    return await build(options, stack);
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function build(options: RigOptions, stack: AsyncDisposableStack): Promise<Rig> {
  const guard = startGuard();
  stack.defer(() => guard.close());
  const redis = await startOwnRedis();
  stack.defer(() => redis.close());
  const simulator = await startSimulator({
    host: '127.0.0.1',
    port: 0,
    logger: createLogger({ service: 'erp', level: 'silent' }),
  });
  stack.defer(() => simulator.close());
  const simulatorUrl = `http://127.0.0.1:${simulator.port}`;
  const ports = await pickPorts();
  const env = {
    ...environment(options, redis, simulatorUrl, stack),
    INGEST_URL: `http://127.0.0.1:${ports.public.ingest}`,
  };
  const children = new Map<ServiceName, Child>();
  const replicas: Child[] = [];
  stack.defer(
    async () =>
      void (await Promise.all([...children.values(), ...replicas].map((child) => child.stop(15_000)))),
  );

  const becomeReady = async (service: ServiceName, child: Child, opsPort: number): Promise<void> => {
    const ready = await waitReady(child, () => probeHttp(`http://127.0.0.1:${opsPort}/readyz`), 30_000);
    if (ready.kind !== 'ready')
      throw new Error(`${service} did not become ready (${ready.kind}):\n${child.tail().join('\n')}`);
  };
  const start = async (service: ServiceName): Promise<void> => {
    const child = spawnService(service, env, ports, guard, options.onLine);
    children.set(service, child);
    await becomeReady(service, child, ports.ops[service]);
  };
  const addReplica: Rig['addReplica'] = async (service) => {
    const [opsPort, port] = await Promise.all([freePort(), freePort()]);
    const own = { public: { ...ports.public, [service]: port }, ops: { ...ports.ops, [service]: opsPort } };
    const child = spawnService(service, env, own, guard, options.onLine);
    replicas.push(child);
    await becomeReady(service, child, opsPort);
    return { pid: child.pid, kill: () => child.kill(), url: `http://127.0.0.1:${port}` };
  };
  await Promise.all((options.services ?? ALL).map(start));
  const cli = (...args: string[]): Promise<CliResult> => runCli(args, env, guard);
  return {
    redis,
    simulatorUrl,
    ingestUrl: env.INGEST_URL,
    consoleUrl: `http://127.0.0.1:${ports.public.console}`,
    opsUrl: (service) => `http://127.0.0.1:${ports.ops[service]}`,
    env,
    send: (event) => signedPost(`${env.INGEST_URL}/webhooks/demo-payments`, event),
    async faults(faults) {
      const response = await fetch(`${simulatorUrl}/api/faults`, {
        method: 'PUT',
        body: JSON.stringify(faults),
        headers: { 'content-type': 'application/json' },
      });
      if (!response.ok) throw new Error(`the simulator refused the faults: ${await response.text()}`);
    },
    stats: async () =>
      (await (await fetch(`${simulatorUrl}/api/stats`)).json()) as {
        postings: number;
        distinctReferences: number;
        duplicates: number;
      },
    cli,
    async json<T>(...args: string[]) {
      const result = await cli(...args, '--json');
      if (result.code !== 0)
        throw new Error(
          `${args.join(' ')} ended with code ${result.code}:\n${result.stderr}${result.stdout}`,
        );
      return JSON.parse(result.stdout) as T;
    },
    start,
    addReplica,
    kill: async (service) => void (await children.get(service)?.kill()),
    stop: async (service) => void (await children.get(service)?.stop(30_000)),
    pid: (service) => children.get(service)?.pid,
    log: (service) => children.get(service)?.tail() ?? [],
    close: () => stack.disposeAsync(),
  };
}

interface Ports {
  readonly public: Readonly<Record<'ingest' | 'console', number>>;
  readonly ops: Readonly<Record<ServiceName, number>>;
}

/** Fixed for the life of the rig, so that a service that was killed comes back where its callers look for it. */
async function pickPorts(): Promise<Ports> {
  const [ingest, console, ...ops] = await Promise.all(Array.from({ length: 6 }, freePort));
  return {
    public: { ingest: ingest!, console: console! },
    ops: { ingest: ops[0]!, dispatcher: ops[1]!, 'erp-consumer': ops[2]!, console: ops[3]! },
  };
}

function environment(
  options: RigOptions,
  redis: OwnRedis,
  simulatorUrl: string,
  stack: AsyncDisposableStack,
): NodeJS.ProcessEnv {
  let config = join(root, 'breakwater.config.yaml');
  if (options.config !== undefined) {
    const dir = mkdtempSync(join(tmpdir(), 'breakwater-rig-'));
    stack.defer(() => rmSync(dir, { recursive: true, force: true }));
    config = join(dir, 'breakwater.config.yaml');
    writeFileSync(config, options.config);
  }
  return {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    REDIS_URL: redis.url,
    BREAKWATER_CONFIG: config,
    ERP_SIMULATOR_URL: simulatorUrl,
    LOG_LEVEL: 'info',
    NODE_COMPILE_CACHE: join(tmpdir(), 'breakwater-compile-cache'), // a rig starts dozens of processes
    ...(options.schedule !== undefined && { RETRY_SCHEDULE: options.schedule }),
    ...options.env,
  };
}

function spawnService(
  service: ServiceName,
  env: NodeJS.ProcessEnv,
  ports: Ports,
  guard: Guard,
  onLine: RigOptions['onLine'],
): Child {
  const port = service === 'ingest' || service === 'console' ? { PORT: String(ports.public[service]) } : {};
  return spawnChild({
    name: service,
    command: process.execPath,
    args: [join(root, 'services', service, 'src/main.ts')],
    env: { ...env, ...port, OPS_PORT: String(ports.ops[service]) },
    guard,
    stage: 1,
    ...(onLine && { onLine: (line) => onLine(service, line) }),
  });
}

/** Resolves when the command has ended. Killed at the rig's end, should it hang. */
async function runCli(args: readonly string[], env: NodeJS.ProcessEnv, guard: Guard): Promise<CliResult> {
  const child = spawn(process.execPath, [join(root, 'packages/cli/src/main.ts'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) guard.watch(child.pid, 1);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    }),
  ]);
  if (child.pid !== undefined) guard.forget(child.pid);
  return { code, stdout, stderr };
}
