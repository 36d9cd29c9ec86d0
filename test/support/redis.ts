import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedis } from '@breakwater/local-stack/redis';
import { findRedisServer } from '@breakwater/local-stack/redis-binary';
import { freePort } from './free-port.ts';

/** URL of the Redis that all suites of a run share. Use a key prefix of your own in it, and never flush it. */
export function sharedRedisUrl(): string {
  const url = process.env['TEST_REDIS_URL'];
  if (url === undefined) throw new Error('TEST_REDIS_URL is not set: run the tests through npm test');
  return url;
}

export interface OwnRedisOptions {
  /** Settings that replace those of infra/redis/redis.conf, such as `{ maxmemory: '20mb' }`. */
  readonly overrides?: Readonly<Record<string, string>>;
}

export interface OwnRedis {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  /** Of the server that runs now, or ran last. */
  readonly pid: () => number;
  /** Ends it as an operator would. */
  readonly stop: () => Promise<void>;
  /** SIGKILL. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port and data, after `stop` or `kill`; `options` replace the earlier ones. */
  readonly restart: (options?: OwnRedisOptions) => Promise<void>;
  /** Kills it and removes its data. Call it after the test. */
  readonly close: () => Promise<void>;
}

/** A durable Redis for a suite that restarts, starves or reconfigures it. */
export async function startOwnRedis(options: OwnRedisOptions = {}): Promise<OwnRedis> {
  const binary = findRedisServer(process);
  if (binary === undefined)
    throw new Error('redis-server is not installed: npm test installs it or says how');
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-redis-'));
  let server: RedisServer;
  try {
    server = await startSomewhere(binary, dir, options);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
  const { port, url } = server;
  let latest = options;
  return {
    url,
    port,
    dir,
    pid: () => server.pid,
    stop: () => server.stop(),
    kill: () => server.kill(),
    async restart(changed) {
      latest = changed ?? latest;
      server = await startRedis({ ...latest, binary, port, dir });
    },
    async close() {
      await server.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A port that was free may be taken a moment later by another suite's server. */
async function startSomewhere(binary: string, dir: string, options: OwnRedisOptions): Promise<RedisServer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startRedis({ ...options, binary, port: await freePort(), dir });
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}
