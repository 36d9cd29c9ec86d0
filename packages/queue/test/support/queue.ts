import { afterEach } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, type ConnectionKind, connectRedis, type Redis } from '@breakwater/store/connection';
import { createKeyspace, type Keyspace } from '@breakwater/store/keys';
import { sharedRedisUrl } from '../../../../test/support/redis.ts';

export const silent = createLogger({ service: 'test', level: 'silent' });

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Runs after the test, last registered first. */
export const afterwards = (close: () => unknown): void => void closers.push(close);

export function connect(kind: ConnectionKind): Redis {
  const redis = connectRedis(sharedRedisUrl(), kind, silent);
  afterwards(() => closeRedis(redis));
  return redis;
}

export const freshKeys = (): Keyspace => createKeyspace(`t${newId()}`);

export const eventJob = (eventId: string): EventJob => ({
  v: 1,
  operator: 'default',
  source: 'shop',
  eventId,
  type: 't',
  entity: '',
  contentType: '',
  receivedAt: 1,
  encoding: 'utf8',
  body: '{}',
});
