import { expect, test } from '@jest/globals';
import { openReconciling } from './support/reconciling.ts';

test('where every event has its one document a reconciliation finds nothing', async () => {
  const world = await openReconciling();
  const { id } = await world.posted('evt-1');
  await world.age(id);
  await world.accept('evt-2'); // on its way
  const { findings, pages, deep } = await world.reconcile({ deep: true });
  expect(findings).toMatchObject([{ eventId: 'evt-2', why: 'past_due' }]); // without a grace; none has begun it
  expect(pages.reduce((sum, { deliveries }) => sum + deliveries, 0)).toBe(2);
  expect(deep).toMatchObject({ kind: 'done', documents: 1 });
  const patient = await openReconciling((config) => ({
    ...config,
    reconciliation: { ...config.reconciliation, grace: 60_000 },
  }));
  await patient.accept('evt-2');
  const calm = await patient.reconcile();
  expect(calm.findings).toEqual([]);
  expect(calm.pages[0]).toMatchObject({ events: 1, deliveries: 1, open: 1 });
});

test('a delivery record that is gone is found by its event, and the command that is named makes it again', async () => {
  const world = await openReconciling();
  const { id } = await world.posted("it's $(gone)");
  await world.age(id);
  await world.redis.del(world.keys.delivery(id));
  const { findings } = await world.reconcile();
  expect(findings).toMatchObject([
    {
      kind: 'missing',
      why: 'record_lost',
      delivery: id,
      eventId: "it's $(gone)",
      next: String.raw`breakwater events fan-out --source demo-payments --event 'it'\''s $(gone)'`,
    },
  ]);
});

test('an event whose records are all gone is still named, by the indexes', async () => {
  const world = await openReconciling();
  const { id } = await world.posted('evt-1');
  await world.age(id);
  const [event = ''] = id.split('.');
  await world.redis.del(world.keys.delivery(id), world.keys.event(event));
  expect((await world.reconcile()).findings).toMatchObject([
    { kind: 'missing', why: 'event_lost', delivery: id, operator: 'default' },
  ]);
});

test('a dead letter whose event is gone is not to be replayed: it is settled by hand and resolved', async () => {
  const world = await openReconciling();
  const id = await world.accept('evt-1');
  await world.redis.del(world.keys.event(id.slice(0, id.indexOf('.'))));
  await world.attempt(id, 'rejected');
  const { findings } = await world.reconcile();
  expect(findings).toMatchObject([{ kind: 'dead_lettered', why: 'given_up', delivery: id }]);
  expect(findings[0]?.next).toContain(`breakwater dead-letters resolve ${id}`);
  expect(findings[0]?.next).not.toContain('replay');
});

test('a delivery that nobody would come back to is found, and armed again only where that is so', async () => {
  const world = await openReconciling((config) => ({
    ...config,
    reconciliation: { ...config.reconciliation, grace: 600_000 },
  }));
  const [lost, well] = [await world.accept('evt-1'), await world.accept('evt-2')];
  await world.redis.zrem(world.keys.alarms('erp'), `${lost}-1`);
  expect((await world.reconcile()).findings).toMatchObject([
    { kind: 'missing', why: 'not_armed', delivery: lost },
  ]);
  expect(await world.transitions.armAgain(well)).toBe(false);
  expect(await world.transitions.armAgain(lost)).toBe(true);
  expect(await world.transitions.armAgain(lost)).toBe(false);
  expect((await world.reconcile()).findings).toEqual([]);
  await world.attempt(lost, 'posted', 'GR-1');
  expect((await world.reconcile()).findings).toEqual([]);
});

test('an outcome that is not known, a dead letter and a second creating answer are each called by their name', async () => {
  const world = await openReconciling();
  const [unknown, dead, twice, resolved] = await Promise.all(
    ['unknown', 'dead', 'twice', 'resolved'].map((eventId) => world.accept(eventId)),
  );
  await world.attempt(unknown!, 'unknown');
  await world.attempt(dead!, 'rejected');
  await world.attempt(resolved!, 'rejected');
  await world.transitions.resolve(resolved!, 'default', 'by hand', 'tester');
  await world.attempt(twice!, 'posted', 'GR-1');
  await world.redis.hset(world.keys.delivery(twice!), 'created', 2);
  const { findings } = await world.reconcile();
  expect(findings.toSorted((a, b) => (a.eventId! < b.eventId! ? -1 : 1))).toMatchObject([
    { eventId: 'dead', kind: 'dead_lettered', why: 'given_up', status: 'dead_letter' },
    { eventId: 'twice', kind: 'duplicate', why: 'two_answers', receipts: ['GR-1'] },
    { eventId: 'unknown', kind: 'unknown', why: 'unclear_outcome', status: 'failed' },
  ]);
});

test('a posting is in doubt from the first unclear answer on, however often it is tried again without one', async () => {
  const graceMs = 600_000;
  const world = await openReconciling((config) => ({
    ...config,
    reconciliation: { ...config.reconciliation, grace: graceMs },
  }));
  const id = await world.accept('evt-1');
  await world.attempt(id, 'unknown');
  expect((await world.reconcile()).findings).toEqual([]);
  const longAgo = Date.now() - graceMs - 60_000;
  await world.redis.hset(world.keys.delivery(id), 'doubtAt', longAgo);
  const again = async (outcome: Parameters<typeof world.attempt>[1]): Promise<void> => {
    await world.redis.hset(world.keys.delivery(id), { nextAttemptAt: 0, settleAt: 0 }); // as if its wait were over
    await world.attempt(id, outcome);
  };
  for (const outcome of ['failed', 'unknown'] as const) await again(outcome); // as the breaker's probe
  const { findings } = await world.reconcile();
  expect(findings).toMatchObject([{ kind: 'unknown', why: 'unclear_outcome', delivery: id }]);
  expect(findings[0]?.detail).toContain(new Date(longAgo).toISOString());
  await again('absent'); // a look-up that tells ends it, and the next doubt is a new one
  await again('unknown');
  expect((await world.reconcile()).findings).toEqual([]);
});

test('an event that no route wanted, and one whose fan-out failed, are missing where a route wants them now', async () => {
  const world = await openReconciling();
  const { config } = world;
  const { routes } = config;
  config.routes = [];
  await world.fanOut(world.job('evt-unrouted'));
  config.routes = routes;
  const events = `${world.keys.queues}:events`;
  await world.redis.hset(`${events}:job-1`, {
    name: 'event',
    data: JSON.stringify(world.job('evt-failed')),
    opts: '{}',
    timestamp: Date.now(),
    finishedOn: Date.now(),
    failedReason: 'boom',
  });
  await world.redis.zadd(`${events}:failed`, Date.now(), 'job-1');
  expect((await world.reconcile()).findings).toMatchObject([
    {
      kind: 'missing',
      why: 'unrouted',
      eventId: 'evt-unrouted',
      next: 'breakwater events fan-out --source demo-payments --event evt-unrouted',
    },
    { kind: 'missing', why: 'fan_out_failed', eventId: 'evt-failed' },
  ]);
});

test('the range is kept: what was recorded before or after it is not told', async () => {
  const world = await openReconciling();
  const id = await world.accept('evt-1');
  await world.redis.zadd(world.keys.recorded, Date.now() - 7_200_000, id.slice(0, id.indexOf('.')));
  expect((await world.reconcile()).findings).toEqual([]);
  expect((await world.reconcile({ since: Date.now() - 8_000_000 })).findings).toHaveLength(1);
  expect(
    (await world.reconcile({ since: Date.now() - 8_000_000, until: Date.now() - 7_500_000 })).findings,
  ).toEqual([]);
});

test('twenty thousand events, hundreds of them in one millisecond, take pages of one size, and a cursor goes on behind each', async () => {
  const world = await openReconciling();
  const { redis, keys } = world;
  const TOTAL = 20_000;
  const pipeline = redis.pipeline();
  const at = Date.now() - 600_000;
  for (let index = 0; index < TOTAL; index += 1) {
    const event = `e${String(index).padStart(21, '0')}`;
    pipeline.hset(keys.event(event), {
      plan: '[{"d":"erp_receipts"}]',
      source: 'demo-payments',
      eventId: event,
    });
    const lost = index % 5_000 === 4_999;
    if (!lost)
      pipeline.hset(keys.delivery(`${event}.erp_receipts`), {
        status: 'sent',
        created: 1,
        operator: 'default',
      });
    pipeline.zadd(keys.recorded, at + Math.floor(index / 700), event);
  }
  await pipeline.exec();
  const { findings, pages } = await world.reconcile();
  expect(pages.map(({ events }) => events).filter((events) => events > 200)).toEqual([]);
  expect(pages.reduce((sum, { events }) => sum + events, 0)).toBe(TOTAL);
  expect(findings.map(({ eventId }) => Number(eventId?.slice(1)))).toEqual([4_999, 9_999, 14_999, 19_999]);
  const { cursor } = pages[49]!;
  const rest = await world.reconcile({ cursor });
  expect(rest.findings).toHaveLength(2);
  expect(rest.pages.reduce((sum, { events }) => sum + events, 0)).toBe(TOTAL - 50 * 200);
  await redis.del(keys.recorded);
}, 60_000);
