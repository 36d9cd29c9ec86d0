import { afterEach } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { newId } from '@breakwater/contracts/ids';
import { decodeBody, decodeEventJob, type EventJob } from '@breakwater/contracts/jobs';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { createKeyspace, type Keyspace } from '@breakwater/store/keys';
import { type Acceptor, type AcceptorOptions, createAcceptor, type IncomingEvent } from '../../src/accept.ts';
import { sharedRedisUrl } from '../../../../test/support/redis.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';

export const silent = createLogger({ service: 'test', level: 'silent' });

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Runs after the test, last registered first. */
export const afterwards = (close: () => unknown): void => void closers.push(close);

export interface Options {
  readonly url?: string;
  readonly prefix?: string;
  readonly durability?: AcceptorOptions['durability'];
  readonly ingest?: Partial<AcceptorOptions['ingest']>;
}

/** An acceptor as ingest opens it, in a key space of its own unless one is given. */
export function openAcceptor(options: Options = {}): Acceptor {
  const acceptor = createAcceptor({
    redisUrl: options.url ?? sharedRedisUrl(),
    keyPrefix: options.prefix ?? `t${newId()}`,
    durability: options.durability ?? 'strict',
    ingest: { ...BreakwaterConfig.parse({}).ingest, ...options.ingest },
    logger: silent,
  });
  afterwards(() => acceptor.close());
  return acceptor;
}

export async function readyAcceptor(options: Options = {}): Promise<Acceptor> {
  const acceptor = openAcceptor(options);
  await untilReady(acceptor);
  return acceptor;
}

export async function untilReady(acceptor: Acceptor): Promise<void> {
  await waitUntil(() => acceptor.notReady().length === 0, {
    what: `the acceptor to be ready: ${acceptor.notReady().join()}`,
  });
}

export function connect(url = sharedRedisUrl()): Redis {
  const redis = connectRedis(url, 'scripts', silent);
  afterwards(() => closeRedis(redis));
  return redis;
}

export const event = (eventId: string, more: Partial<IncomingEvent> = {}): IncomingEvent => ({
  operator: 'default',
  source: 'shop',
  eventId,
  type: 'order.paid',
  entity: '',
  contentType: 'application/json',
  bytes: Buffer.from(`{"id":"${eventId}"}`),
  receivedAt: 1,
  ...more,
});

/** Every event that waits for fan-out. */
export async function queued(redis: Redis, prefix: string): Promise<(EventJob & { bytes: Buffer })[]> {
  const keys: Keyspace = createKeyspace(prefix);
  const ids = await redis.lrange(keys.waitingEvents, 0, -1);
  const jobs = await Promise.all(ids.map((id) => redis.hget(`${keys.queues}:events:${id}`, 'data')));
  return jobs.map((data) => {
    const job = decodeEventJob(JSON.parse(data ?? 'null'));
    return { ...job, bytes: decodeBody(job) };
  });
}
