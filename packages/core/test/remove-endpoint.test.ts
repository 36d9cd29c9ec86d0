import { expect, test } from '@jest/globals';
import { listEndpoints, readEndpoint } from '@breakwater/store/endpoints';
import { readDelivery } from '@breakwater/store/deliveries';
import { createFanOut } from '../src/fan-out.ts';
import { updateEndpoint } from '../src/endpoints.ts';
import { countOpen, finishRemovals, removeEndpoint } from '../src/remove-endpoint.ts';
import { findReplayObstacle } from '../src/replay-check.ts';
import { requestReplay } from '../src/replay.ts';
import { API_KEY, openEndpoints, startReceiver } from './support/endpoints.ts';

const change = (id: string, more: { operator?: string; ifVersion?: number } = {}) => ({
  operator: 'default',
  id,
  actor: 'tester',
  ...more,
});
type Work = ReturnType<typeof openEndpoints>;
const statuses = (work: Work, ids: readonly string[]) => Promise.all(ids.map((id) => work.status(id)));
const open = (work: Work, name: string, key: string): Promise<number> =>
  work.redis.zcard(`${work.keys.prefix}${name}:${key}`);

test('removal dead-letters what is pending, failed, held, parked and asked to be replayed, and leaves what was sent', async () => {
  const receiver = await startReceiver(() => ({ status: 500 }));
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url, maxInFlight: 1 });
  const make = () => work.deliver(endpoint.id);
  const [pending, failed, sent, gone, flying, parked, replayed] = [
    await make(),
    await make(),
    await make(),
    await make(),
    await make(),
    await make(),
    await make(),
  ];
  await work.attempt(failed);
  await work.end(await work.begin(sent), 'sent');
  await work.end(await work.begin(gone), 'gone');
  await work.end(await work.begin(replayed), 'failed');
  expect((await work.replay(replayed, 'single')).kind).toBe('ok');
  const go = await work.begin(flying);
  expect(await work.transitions.beginAttempt(parked, `${parked}-1`, 't')).toMatchObject({ kind: 'parked' });
  const { endpoint: other } = await work.add();
  const elsewhere = await work.deliver(other.id);

  expect(await countOpen(work, change(endpoint.id))).toEqual({ open: 5, changed: true });
  expect(await removeEndpoint(work, { ...change(endpoint.id), reason: 'left' })).toEqual({
    changed: true,
    deadLettered: 5,
    finished: true,
  });
  expect(await statuses(work, [pending, failed, flying, parked, replayed])).toEqual(
    Array(5).fill('dead_letter'),
  );
  expect(await statuses(work, [sent, gone, elsewhere])).toEqual(['sent', 'dead_letter', 'pending']);
  expect(await readDelivery(work.redis, work.keys, 'default', pending)).toMatchObject({
    reason: 'endpoint_removed',
  });
  expect(await readDelivery(work.redis, work.keys, 'default', gone)).toMatchObject({ reason: 'gone' });
  expect(await open(work, 'gate', `${endpoint.id}:waiting`)).toBe(0);
  // Only the look whether the attempt in flight has died is left, and the other endpoint's alarm.
  const alarms = await work.redis.zrange(work.keys.alarms('deliveries'), 0, '-1');
  expect(alarms.map((alarm) => alarm.slice(0, alarm.lastIndexOf('-'))).toSorted()).toEqual(
    [elsewhere, flying].toSorted(),
  );
  // An attempt that was in flight and delivered is a fact.
  await work.end(go, 'sent');
  expect(await work.status(flying)).toBe('sent');
  expect(receiver.seen).toHaveLength(1);
});

test('the record and its secrets are gone, the audit log says what it was without them, and nothing can be done to it', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add({ rateLimit: { perSecond: 1 } });
  await work.redis.hset(work.keys.gate(endpoint.id), 'paused', '1');
  await removeEndpoint(work, { ...change(endpoint.id), reason: 'left' });
  expect(await readEndpoint(work.redis, work.keys, endpoint.id)).toBeUndefined();
  expect(await listEndpoints(work.redis, work.keys, 'default')).toEqual([]);
  expect(await work.redis.exists(work.keys.endpoints('default'))).toBe(0);
  expect(await work.redis.hkeys(work.keys.gate(endpoint.id))).toEqual(['removed', 'cap', 'policy']);
  expect(await work.everything()).not.toContain(endpoint.secrets[0]!.sealed);
  const entry = (await work.audit()).at(-1)!;
  expect(entry).toMatchObject({ action: 'endpoint.remove', reason: 'left' });
  expect(JSON.parse(entry['before']!)).toMatchObject({
    url: endpoint.url,
    headers: { 'x-api-key': '[hidden]' },
  });
  expect(JSON.stringify(entry)).not.toContain(API_KEY);
  await expect(updateEndpoint(work, change(endpoint.id), { description: 'x' })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('a removed endpoint gets no new event from the moment of its removal, and a delivery that was under way is never sent', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url, sources: [], reference: 'event' });
  const fanOut = createFanOut({ ...work, targets: new Map() });
  const job = (eventId: string) => ({
    v: 1 as const,
    operator: 'default',
    source: 'shop',
    eventId,
    type: 'order.paid',
    entity: '',
    contentType: '',
    receivedAt: 1,
    encoding: 'utf8' as const,
    body: '{}',
  });
  expect(await fanOut(job('before'))).toBe(1);
  await removeEndpoint(work, change(endpoint.id));
  expect(await fanOut(job('after'))).toBe(0);
  const late = await work.deliver(endpoint.id); // planned before, recorded after
  await work.attempt(late);
  expect(await readDelivery(work.redis, work.keys, 'default', late)).toMatchObject({
    status: 'dead_letter',
    reason: 'endpoint_removed',
    attempts: [],
  });
  expect(receiver.seen).toHaveLength(0);
});

test('a removal that was killed half-way is finished by running it again, or by the sweeper; both may be repeated', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  // More than one chunk.
  const ids = await Promise.all(Array.from({ length: 450 }, () => work.deliver(endpoint.id)));
  const stop = new AbortController();
  const half = await removeEndpoint(work, change(endpoint.id), {
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  expect(half).toMatchObject({ changed: true, finished: false });
  expect(half.deadLettered).toBeGreaterThan(0);
  expect(half.deadLettered).toBeLessThan(450);
  expect(await listEndpoints(work.redis, work.keys, 'default')).toEqual([]); // new events have stopped all the same

  expect(await finishRemovals(work)).toBe(0); // its process may be at it
  await work.redis.zadd(work.keys.removals, 1, endpoint.id);
  expect(await finishRemovals(work)).toBe(450 - half.deadLettered);
  expect(new Set(await statuses(work, ids))).toEqual(new Set(['dead_letter']));
  expect(await work.redis.zcard(work.keys.removals)).toBe(0);
  expect(await removeEndpoint(work, change(endpoint.id))).toEqual({
    changed: false,
    deadLettered: 0,
    finished: true,
  });
  expect((await work.audit()).filter(({ action }) => action === 'endpoint.remove')).toHaveLength(1);
});

test('a replay to a removed endpoint is refused with the reason, and by the dry run too', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const id = await work.deliver(endpoint.id);
  await removeEndpoint(work, change(endpoint.id));
  const request = {
    delivery: id,
    operator: 'default',
    mode: 'single' as const,
    acknowledged: true,
    reason: 'r',
    actor: 'a',
  };
  for (const mode of ['single', 'restart'] as const)
    await expect(requestReplay(work.transitions, work.clocks, { ...request, mode })).rejects.toMatchObject({
      code: 'endpoint_removed',
      message: expect.stringContaining('was removed'),
    });
  const delivery = (await readDelivery(work.redis, work.keys, 'default', id))!;
  expect(await findReplayObstacle(work.redis, work.keys, delivery, true)).toMatchObject({
    code: 'endpoint_removed',
  });
});

test("nobody removes another operator's endpoint, or one that was changed since it was looked at", async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const remove = (more: { operator?: string; ifVersion?: number }) =>
    removeEndpoint(work, change(endpoint.id, more));
  await expect(remove({ operator: 'other' })).rejects.toMatchObject({ code: 'not_found' });
  await expect(remove({ ifVersion: 2 })).rejects.toMatchObject({ code: 'version_conflict' });
  expect(await listEndpoints(work.redis, work.keys, 'default')).toHaveLength(1);
  await removeEndpoint(work, change(endpoint.id));
  await expect(remove({ operator: 'other' })).rejects.toMatchObject({ code: 'not_found' });
  await expect(countOpen(work, change(endpoint.id, { operator: 'other' }))).rejects.toMatchObject({
    code: 'not_found',
  });
});
