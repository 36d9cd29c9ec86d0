import { expect, test } from '@jest/globals';
import { readShadows, shadowDone } from '@breakwater/store/shadows';
import { startSweeper } from '../src/sweep.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { openWork } from './support/deliveries.ts';
import { afterwards } from './support/acceptor.ts';

test('a dead letter has a shadow in the queue that people look at, with ids and reason, and no shadow when it is none', async () => {
  const work = openWork();
  const id = await work.delivery();
  await work.end(await work.begin(id), 'gone');
  await work.sweep();
  expect(await work.shadow(id)).toEqual({
    v: 1,
    delivery: id,
    event: id.slice(0, 22),
    destination: id.slice(23),
    reason: 'gone',
  });
  await work.replay(id, 'restart');
  await work.sweep();
  expect(await work.shadow(id)).toBeUndefined();
  expect(await readShadows(work.redis, work.keys, 10)).toEqual([]);
});

test('a dead letter that a person resolved casts no shadow', async () => {
  const work = openWork();
  const id = await work.delivery();
  await work.end(await work.begin(id), 'gone');
  await work.sweep();
  await work.transitions.resolve(id, 'default', 'settled', 'ada');
  await work.sweep();
  expect(await work.shadow(id)).toBeUndefined();
});

test('a status that changes between being read and being brought into line is brought into line again', async () => {
  const work = openWork();
  const id = await work.delivery();
  await work.end(await work.begin(id), 'gone');
  const [seen] = await readShadows(work.redis, work.keys, 10); // a sweeper reads that it is dead ...
  await work.replay(id, 'restart'); // ... a person revives it ...
  await work.maintenance.shadow(id, { v: 1, delivery: id, event: 'e', destination: 'd', reason: 'gone' }); // ... and the sweeper acts on what it read
  await shadowDone(work.redis, work.keys, id, seen?.change ?? '');
  expect(await work.shadow(id)).toBeDefined();
  await work.sweep();
  expect(await work.shadow(id)).toBeUndefined();
  expect(await readShadows(work.redis, work.keys, 10)).toEqual([]);
});

test('the shadow of a delivery that died again says why it died now', async () => {
  const work = openWork();
  const id = await work.delivery();
  await work.end(await work.begin(id), 'gone');
  await work.sweep();
  await work.replay(id, 'restart');
  const go = await work.begin(id);
  await work.end(go, 'rejected'); // no sweep has looked meanwhile
  await work.sweep();
  expect((await work.shadow(id))?.reason).toBe('rejected');
});

test('an alarm whose job was lost gets a new one, and an alarm that has one keeps it', async () => {
  const work = openWork();
  const [lost, kept] = [await work.delivery(), await work.delivery()];
  await work.clocks.set([{ alarmId: `${kept}-1`, waitMs: 0 }]);
  await work.sweep();
  expect(await work.jobs()).toEqual([`${kept}-1`]); // nobody is past the time of grace
  await work.alarmsAreDue();
  await work.sweep();
  await work.sweep();
  expect((await work.jobs()).toSorted()).toEqual([`${kept}-1`, `${lost}-1`].toSorted());
});

test('two sweepers that run all the time repair what they find and do no harm to each other', async () => {
  const work = openWork();
  afterwards(startSweeper(work));
  afterwards(startSweeper(work));
  const ids: string[] = [];
  for (let index = 0; index < 20; index += 1) ids.push(await work.delivery());
  for (const id of ids.slice(0, 10)) await work.end(await work.begin(id), 'gone');
  await work.alarmsAreDue();
  await waitUntil(
    async () =>
      (await work.jobs()).length === 10 &&
      (await Promise.all(ids.map((id) => work.shadow(id)))).filter(Boolean).length === 10,
    { what: 'jobs and shadows' },
  );
  expect(await readShadows(work.redis, work.keys, 100)).toEqual([]);
});

test('an alarm whose job only waits in a long line costs the sweeper no second job', async () => {
  const work = openWork();
  const [lost, waits] = [await work.delivery(), await work.delivery()];
  await work.clocks.set([{ alarmId: `${waits}-1`, waitMs: 0 }]);
  await work.alarmsAreDue();
  expect(await work.transitions.sweepAlarms('deliveries', 10)).toEqual([{ alarmId: `${lost}-1`, waitMs: 0 }]);
  await work.redis.del(`${work.keys.queues}:deliveries:wait`, work.keys.alarmJob('deliveries', `${waits}-1`));
  await work.alarmsAreDue();
  expect((await work.transitions.sweepAlarms('deliveries', 10)).map(({ alarmId }) => alarmId)).toContain(
    `${waits}-1`,
  );
});

test('a sweeper brings records from before the indexes into them', async () => {
  const work = openWork();
  const { redis, keys } = work;
  const id = await work.delivery();
  await redis.del(keys.byOperator('default'), keys.bySource('default', 'shop'));
  afterwards(startSweeper(work));
  await waitUntil(async () => (await redis.zscore(keys.bySource('default', 'shop'), id)) !== null, {
    what: 'the index of the source',
  });
  expect(await redis.zscore(keys.byOperator('default'), id)).not.toBeNull();
});
