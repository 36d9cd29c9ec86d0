import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import type { Redis } from '@breakwater/store/connection';
import { type OwnRedis, type OwnRedisOptions, startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import {
  afterwards,
  connect,
  event,
  openAcceptor,
  queued,
  readyAcceptor,
  untilReady,
} from './support/acceptor.ts';

async function ownRedis(options: OwnRedisOptions = {}): Promise<OwnRedis> {
  const redis = await startOwnRedis(options);
  afterwards(() => redis.close());
  return redis;
}

test.each([
  ['appendfsync', 'everysec', 'always'],
  ['appendonly', 'no', 'yes'],
  ['no-appendfsync-on-rewrite', 'yes', 'no'],
  ['maxmemory-policy', 'allkeys-lru', 'noeviction'],
])('under %s %s nothing is accepted, unless the operator takes the risk', async (name, value, required) => {
  const redis = await ownRedis({ overrides: { [name]: value } });
  const strict = openAcceptor({ url: redis.url });
  await waitUntil(() => strict.notReady().join().includes('must be'), { what: 'the settings to be known' });
  expect(strict.notReady()).toEqual([`${name} is ${value}, must be ${required}`]);
  expect((await strict.accept(event('e1'))).kind).toBe('unavailable');
  const relaxed = await readyAcceptor({ url: redis.url, durability: 'relaxed' });
  expect((await relaxed.accept(event('e1'))).kind).toBe('accepted');
});

test('a Redis that does not tell its settings counts as weaker', async () => {
  const redis = await ownRedis();
  await connect(redis.url).call('ACL', 'SETUSER', 'guest', 'on', '>secret', '~*', '&*', '+@all', '-config');
  const acceptor = openAcceptor({ url: redis.url.replace('redis://', 'redis://guest:secret@') });
  await waitUntil(() => acceptor.notReady().join().includes('could not be read'), {
    what: 'the settings to be refused',
  });
  expect((await acceptor.accept(event('e1'))).kind).toBe('unavailable');
});

test('a restart with weaker settings is noticed before the first event is accepted', async () => {
  const redis = await ownRedis();
  const acceptor = await readyAcceptor({ url: redis.url });
  expect((await acceptor.accept(event('e1'))).kind).toBe('accepted');
  await redis.stop();
  await redis.restart({ overrides: { appendfsync: 'everysec' } });
  await waitUntil(
    async () => {
      const { kind } = await acceptor.accept(event(newId()));
      if (kind !== 'unavailable') throw new Error(`an event was ${kind}`);
      return acceptor.notReady().join().includes('appendfsync');
    },
    { what: 'the weaker settings to be noticed' },
  );
});

/** Fills Redis until it uses this share of its memory, or until it refuses. */
async function fill(redis: Redis, ratio: number): Promise<void> {
  const field = (info: string, name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  for (let index = 0; ; index += 1) {
    const info = await redis.info('memory');
    if (field(info, 'used_memory') > ratio * field(info, 'maxmemory')) return;
    const stored = await redis
      .eval("return redis.pcall('SET', KEYS[1], string.rep('x', 200000))", 1, `filler:${index}`)
      .catch(() => undefined);
    if (stored === undefined) return;
  }
}

test('above 80% of its memory nothing more is accepted, until there is room again', async () => {
  const redis = await ownRedis({ overrides: { maxmemory: '20mb' } });
  const acceptor = await readyAcceptor({ url: redis.url });
  expect((await acceptor.accept(event('e1'))).kind).toBe('accepted');
  const filler = connect(redis.url);
  await fill(filler, 0.85);
  await waitUntil(() => acceptor.notReady().length > 0, { what: 'the memory to be noticed' });
  expect(acceptor.notReady().join()).toMatch(/^Redis uses \d+% of its memory$/);
  expect((await acceptor.accept(event('e2'))).kind).toBe('unavailable');
  expect((await acceptor.accept(event('e1'))).kind).toBe('duplicate'); // it is remembered
  await filler.flushall();
  await untilReady(acceptor);
  expect((await acceptor.accept(event('e2'))).kind).toBe('accepted');
});

test('a memory that is full at once is a refusal, not an error', async () => {
  const redis = await ownRedis({ overrides: { maxmemory: '20mb' } });
  const acceptor = await readyAcceptor({ url: redis.url, ingest: { maxMemoryRatio: 10 } }); // it fills up between two looks
  await fill(connect(redis.url), 1);
  expect(await acceptor.accept(event('e1', { bytes: Buffer.alloc(500_000, 'x') }))).toEqual({
    kind: 'unavailable',
    message: 'the event could not be stored',
  });
});

test('too many events that wait for fan-out stop the intake', async () => {
  const acceptor = await readyAcceptor({ ingest: { maxWaitingEvents: 2 } });
  for (const id of ['e1', 'e2', 'e3']) await acceptor.accept(event(id));
  await waitUntil(() => acceptor.notReady().length > 0, { what: 'the backlog to be noticed' });
  expect(acceptor.notReady()).toEqual(['3 events wait for fan-out']);
  expect((await acceptor.accept(event('e4'))).kind).toBe('unavailable');
});

test('an event that too few replicas have is not acknowledged; once they have it, it is', async () => {
  const primary = await ownRedis({ overrides: { 'repl-diskless-sync-delay': '0' } });
  const acceptor = await readyAcceptor({ url: primary.url, ingest: { waitReplicas: 1 } });
  expect(await acceptor.accept(event('e1'))).toEqual({
    kind: 'unavailable',
    message: 'too few replicas have the event',
  });
  const replica = await ownRedis();
  await connect(replica.url).replicaof('127.0.0.1', primary.port);
  const again = await waitUntil(
    async () => {
      const result = await acceptor.accept(event('e1'));
      return result.kind === 'unavailable' ? undefined : result;
    },
    { what: 'the replica to follow' },
  );
  expect(again).toEqual({ kind: 'duplicate', differs: false });
  expect((await acceptor.accept(event('e2'))).kind).toBe('accepted');
});

test('what one Redis took is not acknowledged on the word of another, one that lost it but has a replica', async () => {
  const primary = await ownRedis({ overrides: { 'repl-diskless-sync-delay': '0' } });
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ url: primary.url, prefix, ingest: { waitReplicas: 1 } });
  const replica = await ownRedis();
  const accepting = acceptor.accept(event('e1')); // the event is stored, the replica is missing
  const seen = connect(primary.url);
  await waitUntil(async () => (await queued(seen, prefix)).length === 1, { what: 'the event to be stored' });
  await primary.kill();
  for (const name of readdirSync(primary.dir)) rmSync(join(primary.dir, name), { recursive: true });
  await connect(replica.url).replicaof('127.0.0.1', primary.port);
  await primary.restart();
  expect((await accepting).kind).toBe('unavailable');
  expect(await queued(seen, prefix)).toEqual([]);
});
