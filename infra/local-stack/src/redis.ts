import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { AppError } from '@breakwater/runtime/errors';
import { type Guard, startGuard } from './guard.ts';
import { type Child, type Exit, type Readiness, describeExit, spawnChild, waitReady } from './processes.ts';

/** Settings that Breakwater needs; those of a deployment are in the same file. */
export const REDIS_CONF = join(import.meta.dirname, '../../redis/redis.conf');

export interface RedisOptions {
  /** Path of redis-server or valkey-server: see findRedisServer. */
  readonly binary: string;
  readonly port: number;
  /** Directory of its data; made when missing. */
  readonly dir: string;
  /** Settings that replace those of redis.conf, such as `{ maxmemory: '20mb' }`. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** How long it may take to load its data. */
  readonly readyTimeoutMs?: number;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Lets Redis write what it has and end. */
  readonly stop: () => Promise<void>;
  /** SIGKILL, as a crash. */
  readonly kill: () => Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000; // it only has to flush the log, which appendfsync keeps flushed

/**
 * Starts a Redis on 127.0.0.1 with the durable settings of infra/redis/redis.conf and resolves when it has loaded its
 * data. It dies with this process, however that dies. Throws AppError redis_unavailable with its last lines.
 */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const guard = startGuard();
  const child = spawnRedis(options, guard, 0);
  const readiness = await waitRedis(child, options.port, options.readyTimeoutMs ?? READY_TIMEOUT_MS);
  if (readiness.kind !== 'ready' || child.pid === undefined) {
    await child.kill();
    guard.close();
    throw new AppError('redis_unavailable', redisFailure(child, options.port, readiness));
  }
  const end = async (exit: Promise<Exit>): Promise<void> => {
    await exit;
    guard.close();
  };
  return {
    url: redisUrl(options.port),
    port: options.port,
    pid: child.pid,
    exited: child.exited,
    stop: () => end(child.stop(STOP_TIMEOUT_MS)),
    kill: () => end(child.kill()),
  };
}

export const redisUrl = (port: number): string => `redis://127.0.0.1:${port}`;

/** Starts the process without waiting for it. */
export function spawnRedis(options: RedisOptions, guard: Guard, stage: number): Child {
  mkdirSync(options.dir, { recursive: true });
  const settings = {
    ...options.overrides,
    port: String(options.port),
    dir: options.dir,
    bind: '127.0.0.1',
    daemonize: 'no',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return spawnChild({ name: 'redis', command: options.binary, args: [REDIS_CONF, ...args], guard, stage });
}

/** Waits until `child` itself, and not another server on its port, has loaded its data and answers. */
export function waitRedis(
  child: Child,
  port: number,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Readiness> {
  return waitReady(child, () => probeRedis(port, child.pid), timeoutMs, signal);
}

export function redisFailure(child: Child, port: number, readiness: Readiness): string {
  const why =
    readiness.kind === 'exited'
      ? `it ended with ${describeExit(readiness.exit)}`
      : readiness.kind === 'late'
        ? readiness.last
        : 'cancelled';
  return `Redis did not start on port ${port}: ${why}\n${child
    .tail()
    .map((line) => `  ${line}`)
    .join('\n')}`;
}

/** Undefined when the Redis with process id `pid` answers on `port` and is not loading, else what it did instead. */
function probeRedis(port: number, pid: number | undefined): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const socket = connect({ port, host: '127.0.0.1' });
  let answer = '';
  const settle = (reason: string | undefined): void => {
    socket.destroy();
    resolve(reason);
  };
  socket.setTimeout(2_000, () => settle('no answer within 2 s'));
  socket.once('error', (error) => settle(error.message));
  socket.once('close', () => settle('the connection broke off'));
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
    // While it loads its data, Redis answers INFO but refuses everything else.
    const server = /^process_id:(\d+)\r$/m.exec(answer)?.[1];
    const loading = /^loading:(\d)\r$/m.exec(answer)?.[1];
    if (answer.startsWith('-')) settle(answer.trim());
    else if (server !== undefined && server !== String(pid))
      settle(`another Redis (process ${server}) has the port`);
    else if (server !== undefined && loading !== undefined)
      settle(loading === '0' ? undefined : 'it is loading its data');
  });
  socket.write('INFO\r\n');
  return promise;
}
