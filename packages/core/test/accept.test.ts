import { expect, test } from '@jest/globals';
import { eventKey, newId } from '@breakwater/contracts/ids';
import { startEventWorker } from '@breakwater/queue/workers';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { claimReplayGuard } from '@breakwater/store/replay-guard';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { AcceptResult } from '../src/accept.ts';
import { afterwards, connect, event, queued, readyAcceptor, silent } from './support/acceptor.ts';

const count = (results: readonly AcceptResult[], kind: AcceptResult['kind']): number =>
  results.filter((result) => result.kind === kind).length;

test('of a hundred copies in the same millisecond, at three replicas, exactly one is accepted, and one job is queued', async () => {
  const prefix = `t${newId()}`;
  const replicas = await Promise.all([
    readyAcceptor({ prefix }),
    readyAcceptor({ prefix }),
    readyAcceptor({ prefix }),
  ]);
  const copies = Array.from({ length: 100 }, (_, index) => replicas[index % 3]!.accept(event('e1')));
  const results = await Promise.all(copies);
  expect(count(results, 'accepted')).toBe(1);
  expect(results.filter((result) => result.kind !== 'accepted')).toEqual(
    Array.from({ length: 99 }, () => ({ kind: 'duplicate', differs: false })),
  );
  expect(await queued(connect(), prefix)).toHaveLength(1);
});

test('what is queued are the bytes that came, whatever they are', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  const bodies = [
    Buffer.from('{"price":1.10}'),
    Buffer.from([0xff, 0x00, 0xfe]),
    Buffer.from('\ufeff{}'),
    Buffer.alloc(0),
  ];
  for (const [index, bytes] of bodies.entries())
    expect((await acceptor.accept(event(`e${index}`, { bytes }))).kind).toBe('accepted');
  const jobs = await queued(connect(), prefix);
  expect(jobs.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)).map((job) => job.bytes)).toEqual(bodies);
});

test('the same id with another body is a duplicate that differs, from memory as from Redis; the first one stays', async () => {
  const prefix = `t${newId()}`;
  const [first, other] = await Promise.all([readyAcceptor({ prefix }), readyAcceptor({ prefix })]);
  await first.accept(event('e1', { bytes: Buffer.from('one') }));
  for (const acceptor of [first, other, other]) {
    expect(await acceptor.accept(event('e1', { bytes: Buffer.from('two') }))).toEqual({
      kind: 'duplicate',
      differs: true,
    });
    expect(await acceptor.accept(event('e1', { bytes: Buffer.from('one') }))).toEqual({
      kind: 'duplicate',
      differs: false,
    });
  }
  expect((await queued(connect(), prefix)).map((job) => job.bytes.toString())).toEqual(['one']);
});

test('the same id from two sources, or of two operators, is two events', async () => {
  const acceptor = await readyAcceptor();
  for (const more of [{}, { source: 'bank' }, { operator: 'other' }])
    expect((await acceptor.accept(event('e1', more))).kind).toBe('accepted');
});

test('an id is remembered long after its event has been worked off', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  await acceptor.accept(event('e1'));
  const redis = connectRedis(sharedRedisUrl(), 'worker', silent);
  afterwards(() => closeRedis(redis));
  const seen: string[] = [];
  const worker = startEventWorker(
    { redis, keys: createKeyspace(prefix), concurrency: 1, logger: silent },
    async (job) => void seen.push(job.eventId),
  );
  afterwards(() => worker.close());
  await waitUntil(async () => seen.length === 1 && !worker.running(), { what: 'the event to be worked off' });
  const other = await readyAcceptor({ prefix });
  expect(await other.accept(event('e1'))).toEqual({ kind: 'duplicate', differs: false });
  expect(await queued(connect(), prefix)).toEqual([]);
});

test('a dedupe record lives as long as it is configured to', async () => {
  const prefix = `t${newId()}`;
  await (await readyAcceptor({ prefix, ingest: { dedupe: 3_600_000 } })).accept(event('e1'));
  const keys = createKeyspace(prefix);
  const ttl = await connect().pttl(`${keys.queues}:events:de:${eventKey('default', 'shop', 'e1')}`);
  expect(ttl).toBeGreaterThan(3_500_000);
  expect(ttl).toBeLessThanOrEqual(3_600_000);
});

test('signed bytes that come again under another, unsigned id are a replay; under the same id a duplicate', async () => {
  const prefix = `t${newId()}`;
  const [acceptor, other] = await Promise.all([readyAcceptor({ prefix }), readyAcceptor({ prefix })]);
  const unsigned = (eventId: string, replayKey = 'signed-bytes-1') =>
    event(eventId, { replayKey, bytes: Buffer.from('same') });
  expect((await acceptor.accept(unsigned('e1'))).kind).toBe('accepted');
  for (const each of [acceptor, other]) {
    expect(await each.accept(unsigned('e2'))).toEqual({ kind: 'replayed', eventId: 'e1' });
    expect(await each.accept(unsigned('e1'))).toEqual({ kind: 'duplicate', differs: false });
  }
  expect((await acceptor.accept(unsigned('e2', 'signed-bytes-2'))).kind).toBe('accepted');
  expect(await queued(connect(), prefix)).toHaveLength(2);
});

test('of a hundred different ids on the same signed bytes one is accepted', async () => {
  const acceptor = await readyAcceptor();
  const results = await Promise.all(
    Array.from({ length: 100 }, (_, index) => acceptor.accept(event(`e${index}`, { replayKey: 'bytes' }))),
  );
  // Whoever comes while the first one is still on its way has to come again: only its event proves it.
  expect(count(results, 'accepted')).toBe(1);
  expect(count(results, 'replayed') + count(results, 'unavailable')).toBe(99);
  expect((await acceptor.accept(event('late', { replayKey: 'bytes' }))).kind).toBe('replayed');
});

test('signed bytes whose first event was never queued are not taken for a replay: nothing acknowledged is lost', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  // A process that died after it had claimed the bytes, and before it queued its event.
  await claimReplayGuard(
    connect(),
    createKeyspace(prefix),
    'bytes',
    { key: eventKey('default', 'shop', 'try-1'), id: 'try-1' },
    60_000,
  );
  expect((await acceptor.accept(event('try-2', { replayKey: 'bytes' }))).kind).toBe('unavailable');
  expect((await acceptor.accept(event('try-1', { replayKey: 'bytes' }))).kind).toBe('accepted');
  expect((await acceptor.accept(event('try-2', { replayKey: 'bytes' }))).kind).toBe('replayed');
});

test('a sender whose first try died between replay key and queue gets through with the next', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  await connect().set(createKeyspace(prefix).replayGuard('bytes'), `${eventKey('default', 'shop', 'e1')}|1`);
  expect((await acceptor.accept(event('e1', { replayKey: 'bytes' }))).kind).toBe('accepted');
});
