import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { openFleet, openReceiver } from './support.ts';

test('an endpoint gets no more than its rate from two dispatchers together, and everything in the end', async () => {
  const fleet = await openFleet(2);
  const receiver = await openReceiver();
  const [perSecond, burst, count] = [20, 5, 45];
  const endpoint = await fleet.endpoint(receiver.url, 50, { perSecond, burst });
  await Promise.all(Array.from({ length: count }, () => fleet.publish(endpoint)));
  await waitUntil(() => receiver.received.length === count, { what: 'all of them', timeoutMs: 30_000 });
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(count);
  // By Redis' clock, as the attempts began: on a busy machine the requests themselves may come in heaps.
  const records = (await fleet.redis.zrange(fleet.keys.byDestination('default', endpoint), 0, '-1')).map(
    String,
  );
  const spent = Number(await fleet.redis.hget(fleet.keys.gate(endpoint), 'tat'));
  const rows = await Promise.all(records.map((id) => fleet.redis.hget(fleet.keys.delivery(id), 'a1')));
  const first = Math.min(...rows.map((row) => Number(row?.split('|')[1])));
  expect(spent - first).toBeGreaterThanOrEqual((count / perSecond) * 1_000 - 1); // each of them paid
  const last = Math.max(...rows.map((row) => Number(row?.split('|')[1])));
  expect(last - first).toBeGreaterThanOrEqual(((count - burst - 1) / perSecond) * 1_000);
}, 60_000);

test('a rate of one dispatcher is not given up by its death: the other one looks for those who wait', async () => {
  const fleet = await openFleet(0);
  const receiver = await openReceiver();
  const endpoint = await fleet.endpoint(receiver.url, 50, { perSecond: 2, burst: 1 });
  // Parked by a process that is gone: this one only asks the record, as a worker does, and looks at no gate.
  for (let count = 0; count < 3; count += 1) {
    const eventKey = newId();
    await fleet.transitions.recordEvent({
      eventKey,
      source: 'shop',
      operator: 'default',
      plan: [{ d: endpoint }],
      fields: {
        eventId: eventKey,
        type: 't',
        entity: '',
        contentType: '',
        receivedAt: 1,
        encoding: 'utf8',
        body: '{}',
      },
      from: 0,
      count: 100,
      replan: false,
    });
    const id = `${eventKey}.${endpoint}`;
    const answer = await fleet.transitions.beginAttempt(id, `${id}-1`, `t${count}`);
    if (count === 0 && answer.kind === 'go')
      await fleet.transitions.endAttempt({
        delivery: id,
        alarmId: `${id}-1`,
        attempt: 1,
        outcome: 'sent',
        class: 'sent',
        code: '200',
        handOffToken: '',
      });
  }
  expect(await fleet.redis.zcard(fleet.keys.waiting(endpoint))).toBe(2);
  await fleet.startDispatcher();
  await waitUntil(() => receiver.received.length === 2, { what: 'those who waited', timeoutMs: 20_000 });
});
