import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { pause } from '@breakwater/runtime/poll';
import { createKeyspace } from '@breakwater/store/keys';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { startRedisProxy } from '../../../test/support/redis-proxy.ts';
import { createLargeLane } from '../src/accept-lane.ts';
import { afterwards, connect, event, queued, readyAcceptor, silent } from './support/acceptor.ts';

const MIB = 2 ** 20;
const MARK = 'where the large one is held';

/** An acceptor whose connection is held where a body with MARK goes over it; all others go on. */
async function heldAtMark() {
  const prefix = `t${newId()}`;
  const at = (sent: string): boolean => sent.includes(MARK);
  const proxy = await startRedisProxy(sharedRedisUrl(), { at, when: 'before', alone: true });
  afterwards(() => proxy.close());
  const acceptor = await readyAcceptor({ url: proxy.url, prefix });
  return { prefix, proxy, acceptor };
}
const marked = (mib: number) => ({ bytes: Buffer.concat([Buffer.from(MARK), Buffer.alloc(mib * MIB, 'x')]) });

test('what storing a large event takes longer delays no other event, and it is accepted all the same', async () => {
  const { prefix, proxy, acceptor } = await heldAtMark();
  const started = performance.now();
  const large = acceptor.accept(event('large', marked(24)));
  const next = acceptor.accept(event('next', { bytes: Buffer.alloc(24 * MIB, 'y') }));
  await proxy.reached;
  const small = await Promise.all(['a', 'b', 'c'].map(async (id) => acceptor.accept(event(id))));
  // Longer than any other event may take, and less than a third of what this one may.
  await pause(Math.max(0, 2_000 - (performance.now() - started)));
  const refusing = acceptor.notReady();
  proxy.release();
  expect(small.map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'accepted']);
  expect(refusing).toEqual([]);
  expect(await Promise.all([large, next])).toEqual([{ kind: 'accepted' }, { kind: 'accepted' }]);
  const stored = await queued(connect(), prefix);
  expect(stored).toHaveLength(5);
  expect(stored.find(({ eventId }) => eventId === 'large')?.bytes).toHaveLength(24 * MIB + MARK.length);
});

test('a large event whose turn does not come in time is refused, and its sender may come again', async () => {
  const { proxy, acceptor } = await heldAtMark();
  const large = acceptor.accept(event('large', marked(24)));
  await proxy.reached;
  const second = event('second', { bytes: Buffer.alloc(MIB + 1) });
  expect(await acceptor.accept(second)).toMatchObject({ kind: 'unavailable' });
  proxy.release();
  expect(await large).toEqual({ kind: 'accepted' });
  expect(await acceptor.accept(second)).toEqual({ kind: 'accepted' });
});

test('one large event at a time goes to Redis, whatever became of the one before', async () => {
  const keys = createKeyspace(`t${newId()}`);
  const options = { redisUrl: sharedRedisUrl(), keys, relaxed: false, logger: silent };
  const lane = createLargeLane(options, () => undefined);
  afterwards(() => lane.close());
  const first = await lane.enter(1_000);
  expect(await lane.enter(50)).toBeUndefined();
  const waits = lane.enter(30_000);
  first?.leave();
  const second = await waits;
  expect(second?.lane).toBe(first?.lane); // and over one connection
  second?.leave();
});

test('an acceptor that is closed while a large event is on its way does not wait for it', async () => {
  const { proxy, acceptor } = await heldAtMark();
  const large = acceptor.accept(event('large', marked(24)));
  await proxy.reached;
  await acceptor.close();
  expect((await large).kind).toBe('unavailable');
});
