import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

interface Listed {
  deliveries: { status: string; scheduleMade: number; attempts: { class: string }[] }[];
}

let rig: Rig;
beforeEach(async () => void (rig = await startRig({ schedule: '0s,1s,2s,2s,2s,2s' })), 60_000);
afterEach(() => rig.close(), 60_000);

const breaker = async (): Promise<string> =>
  (await rig.json<{ state: string }>('breaker', 'show', 'receipts')).state;
const list = async (): Promise<Listed['deliveries']> =>
  (await rig.json<Listed>('deliveries', 'list', '--target', 'receipts', '--limit', '200')).deliveries;

test('an ERP outage opens the breaker: nothing consumes attempts, ingest never notices, and afterwards all is posted', async () => {
  await rig.faults({ down: true });
  for (let number = 0; number < 5; number += 1)
    await rig.send(orderPaid(`first-${number}`, { warehouse: `W${number}` }));
  await waitUntil(async () => (await breaker()) !== 'closed', {
    what: 'the breaker to open',
    timeoutMs: 30_000,
  });

  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, number) =>
      rig.send(orderPaid(`later-${number}`, { warehouse: `W${number % 10}` })),
    ),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  // Several probes may pass meanwhile; each uses one attempt of one delivery.
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  const during = await list();
  expect(during).toHaveLength(35);
  expect(during.filter(({ status }) => status === 'dead_letter')).toEqual([]);
  expect(during.filter(({ attempts }) => attempts.length > 0).length).toBeLessThanOrEqual(10);

  await rig.faults({});
  await waitUntil(async () => (await rig.stats()).postings >= 35, {
    what: 'all 35 postings',
    timeoutMs: 60_000,
  });
  await waitUntil(async () => (await list()).every(({ status }) => status === 'sent'), {
    what: 'all to be sent',
    timeoutMs: 30_000,
    intervalMs: 500,
  });
  expect(await rig.stats()).toEqual({ postings: 35, distinctReferences: 35, duplicates: 0 });
  expect(await breaker()).toBe('closed');
}, 180_000);

test('a document that the ERP refuses is a dead letter at once, with its words, and holds up nobody', async () => {
  await rig.send(orderPaid('refused', { warehouse: '' })); // the simulator wants a warehouse
  await rig.send(orderPaid('fine'));
  await waitUntil(async () => (await rig.stats()).postings === 1, { what: 'the other posting' });
  const [dead] = await waitUntil(
    async () => {
      const { deadLetters, deliveries } = await rig.json<{
        deadLetters?: { id: string; reason: string }[];
        deliveries?: { id: string; reason: string }[];
      }>('dead-letters', 'list');
      const found = deadLetters ?? deliveries ?? [];
      return found.length > 0 && found;
    },
    { what: 'the dead letter', intervalMs: 200 },
  );
  expect(dead!.reason).toBe('rejected');
  const shown = await rig.cli('deliveries', 'show', dead!.id);
  expect(shown.stdout).toMatch(/erp_rejected/);
  expect(shown.stdout).toMatch(/warehouse/);
}, 90_000);

test('a consumer that is killed while a person keeps the breaker open strands nothing: closing it posts all', async () => {
  await rig.json('breaker', 'open', 'receipts', '--reason', 'stocktaking');
  for (let number = 0; number < 8; number += 1)
    await rig.send(orderPaid(`waiting-${number}`, { warehouse: `W${number}` }));
  const waiting = async (): Promise<number> =>
    (await rig.json<{ waiting: number }>('breaker', 'show', 'receipts')).waiting;
  await waitUntil(async () => (await waiting()) === 8, {
    what: 'all to wait',
    timeoutMs: 30_000,
    intervalMs: 500,
  });
  await rig.kill('erp-consumer');
  await rig.start('erp-consumer');
  expect(await breaker()).toBe('open'); // a person's opening outlasts every process
  expect(await waiting()).toBe(8);
  expect(
    (await list()).every(({ attempts, scheduleMade }) => attempts.length === 0 && scheduleMade === 0),
  ).toBe(true);
  expect((await rig.stats()).postings).toBe(0);
  await rig.json('breaker', 'close', 'receipts', '--reason', 'done');
  await waitUntil(async () => (await list()).every(({ status }) => status === 'sent'), {
    what: 'all to be sent',
    timeoutMs: 60_000,
    intervalMs: 500,
  });
  expect(await rig.stats()).toEqual({ postings: 8, distinctReferences: 8, duplicates: 0 });
}, 150_000);
