import type { Redis } from 'ioredis';
import { redisNowMs } from './clock.ts';
import type { Keyspace } from './keys.ts';
import { holdLease } from './leases.ts';
import { loadScript } from './script.ts';

const indexEvent = loadScript('index-event', { prelude: true });
const tidyDeadGroup = loadScript('tidy-dead-group', { prelude: true });

/** Raise it with every index that older records lack: they are then gone through once more. */
const VERSION = '1';
/**
 * After the first pass processes of the former version may go on for a while, and what they write lacks the index again. A rolling
 * deployment is over within this.
 */
const SECOND_PASS_AFTER_MS = 3_600_000;
/** Keys of one SCAN and deliveries of one script: about a millisecond of Redis each. */
const KEYS = 500;
const DELIVERIES = 50;
/** Dead letters of one script that looks whether they are any. */
const DEAD_LETTERS = 200;
const LEASE_MS = 30_000;
const LEASE = 'index-backfill';

export interface BackfillStep {
  /** There is nothing to do any more, as long as this version runs. */
  readonly complete: boolean;
  /** Events that were gone through. */
  readonly events: number;
}

/**
 * - `complete`: every record has its place in every index.
 * - `once_more`: so far; what processes of a former version write now is looked for within the hour.
 * - `under_way`: lists may lack older records.
 */
export type IndexState = 'complete' | 'once_more' | 'under_way';

export async function readIndexState(redis: Redis, keys: Keyspace): Promise<IndexState> {
  const [version, pass] = await redis.hmget(keys.indexBackfill, 'version', 'pass');
  if (version === VERSION) return 'complete';
  return pass === '2' ? 'once_more' : 'under_way';
}

/**
 * Brings records from before an index existed into it, for `budgetMs`, and takes out of the groups of dead letters what a process
 * of the former version, which keeps no groups, has moved since. Where it stops is kept in Redis, so any process goes on there;
 * one does it at a time. A walk that a restart of Redis cut off begins again: the order of its keys is another one then.
 * `identity`: the process' own.
 */
export async function backfillIndexes(
  redis: Redis,
  keys: Keyspace,
  identity: string,
  budgetMs: number,
): Promise<BackfillStep> {
  if ((await readIndexState(redis, keys)) === 'complete') return { complete: true, events: 0 };
  if (!(await holdLease(redis, keys, LEASE, identity, LEASE_MS))) return { complete: false, events: 0 };
  const now = await redisNowMs(redis);
  const run = await runIdOf(redis);
  const state = await redis.hgetall(keys.indexBackfill);
  if (Number(state['notBefore'] ?? 0) > now) return { complete: false, events: 0 };
  let cursor = state['run'] === run ? (state['cursor'] ?? '0') : '0';
  let seen = state['seen'] === '1';
  let events = 0;
  const until = performance.now() + budgetMs;
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${keys.prefix}[ei]*`, 'COUNT', KEYS);
    const records = found.filter((key) => key.startsWith(keys.event('')));
    await Promise.all(records.map((key) => indexOne(redis, keys, key.slice(keys.event('').length))));
    for (const key of found) await tidyGroup(redis, keys, key);
    events += records.length;
    seen ||= records.length > 0;
    cursor = next;
    await redis.hset(keys.indexBackfill, { cursor, run, seen: seen ? '1' : '0' });
  } while (cursor !== '0' && performance.now() < until);
  if (cursor !== '0') return { complete: false, events };
  // Without a record there was no former version.
  const complete = state['pass'] === '2' || !seen;
  await redis.hset(
    keys.indexBackfill,
    complete ? { version: VERSION, pass: '1' } : { pass: '2', notBefore: now + SECOND_PASS_AFTER_MS },
  );
  return { complete, events };
}

async function indexOne(redis: Redis, keys: Keyspace, event: string): Promise<void> {
  for (let from = 0, total = 1; from < total; from += DELIVERIES) {
    const reply = await indexEvent.run(redis, [keys.event(event)], [keys.prefix, event, from, DELIVERIES]);
    total = Number(reply[0]);
  }
}

/** `key`: of an index. A group is gone through at once: one of a million takes a few seconds, in short steps. */
async function tidyGroup(redis: Redis, keys: Keyspace, key: string): Promise<void> {
  const [, operator, group] = /^index:([^:]+):dead:(.*)$/.exec(key.slice(keys.prefix.length)) ?? [];
  if (operator === undefined || group === undefined) return;
  let cursor = '0';
  do {
    const [next, found] = await redis.zscan(key, cursor, 'COUNT', DEAD_LETTERS);
    const ids = found.filter((_, index) => index % 2 === 0);
    await tidyDeadGroup.run(redis, [key], [keys.prefix, operator, group, ...ids]);
    cursor = next;
  } while (cursor !== '0');
}

async function runIdOf(redis: Redis): Promise<string> {
  return /^run_id:(\w+)/m.exec(await redis.info('server'))?.[1] ?? '';
}
