import { expect, test } from '@jest/globals';
import { start, startProcess, until } from './support.ts';

const HEALTHY = {
  latencyMs: 0,
  errorRate: 0,
  dropAfterPost: 0,
  hang: false,
  uniqueReference: false,
  down: false,
};

/** Long enough for what a test does meanwhile, and waited for once. */
const WHILE_MS = 1_000;

/** Long enough that a test which waits for it runs into its own time limit. */
const NEVER_MS = 600_000;

test('faults are replaced as a whole and shown', async () => {
  const erp = await start();
  expect(await erp.request('GET', '/api/faults')).toEqual({ status: 200, body: HEALTHY });
  const first = await erp.faults({ latencyMs: [10, 20], uniqueReference: true });
  expect(first).toEqual({ status: 200, body: { ...HEALTHY, latencyMs: [10, 20], uniqueReference: true } });
  const second = await erp.faults({ errorRate: 0.5 });
  expect(second).toEqual({ status: 200, body: { ...HEALTHY, errorRate: 0.5 } });
  expect((await erp.request('GET', '/api/faults')).body).toEqual({ ...HEALTHY, errorRate: 0.5 });
});

test.each([
  [{ latency: 5 }, 'latency'],
  [{ latencyMs: -1 }, 'latencyMs'],
  [{ latencyMs: [20, 10] }, 'min <= max'],
  [{ errorRate: 1.5 }, 'errorRate'],
  [{ hang: 'yes' }, 'hang'],
])('the faults %j are refused and change nothing', async (faults, reason) => {
  const erp = await start();
  await erp.faults({ uniqueReference: true });
  const answer = await erp.faults(faults);
  expect(answer).toEqual({ status: 400, body: { error: expect.stringContaining(reason) } });
  expect((await erp.request('GET', '/api/faults')).body).toEqual({ ...HEALTHY, uniqueReference: true });
});

test('one warehouse takes one posting at a time while another goes on', async () => {
  const erp = await startProcess();
  await erp.faults({ latencyMs: NEVER_MS });
  await erp.begin('evt-1', 'north');
  await erp.faults({}); // what comes now takes no time of its own, but must wait for its warehouse
  const queued = await erp.begin('evt-2', 'north');
  expect(await erp.post('evt-3', 'south')).toEqual({ status: 201, body: { receipt_no: 'GR-000001' } });
  expect(queued.settled()).toBe(false);
  expect(await erp.stats()).toMatchObject({ postings: 1 });
});

test('postings of one warehouse are applied in the order of their arrival', async () => {
  const erp = await startProcess();
  const begun = [];
  for (const [reference, latencyMs] of [
    ['evt-1', 300],
    ['evt-2', 0],
    ['evt-3', 0],
  ] as const) {
    await erp.faults({ latencyMs });
    begun.push(await erp.begin(reference));
  }
  const answers = await Promise.all(begun.map(({ answer }) => answer));
  const numbers = answers.map((answer) => answer.status === 'fulfilled' && answer.value.body);
  expect(numbers).toEqual([
    { receipt_no: 'GR-000001' },
    { receipt_no: 'GR-000002' },
    { receipt_no: 'GR-000003' },
  ]);
});

test('a client that gives up does not cancel its posting', async () => {
  const erp = await startProcess();
  await erp.faults({ latencyMs: WHILE_MS });
  const giveUp = new AbortController();
  const begun = [
    await erp.begin('evt-1', 'north', giveUp.signal),
    await erp.begin('evt-2', 'north', giveUp.signal),
  ];
  await erp.faults({}); // the second one need not take as long again
  giveUp.abort();
  for (const { answer } of begun) expect((await answer).status).toBe('rejected');
  await until('the ERP has applied them anyway', async () => {
    return ((await erp.stats()) as { postings: number }).postings === 2;
  });
});

test('errorRate answers 500 to postings, which are not applied, and to look-ups', async () => {
  const erp = await start();
  await erp.faults({ errorRate: 1 });
  expect(await erp.post('evt-1')).toEqual({ status: 500, body: { error: expect.any(String) } });
  expect(await erp.request('GET', '/api/receipts')).toEqual({
    status: 500,
    body: { error: expect.any(String) },
  });
  expect(await erp.stats()).toMatchObject({ postings: 0 });
});

test('errorRate is a share of the requests', async () => {
  const erp = await start({ random: alternate([0.29, 0.99, 0.3, 0.99]) });
  await erp.faults({ errorRate: 0.3 });
  // One draw decides the error; a posting that succeeds draws once more, for its answer.
  const statuses = [await erp.post('evt-1'), await erp.post('evt-2'), await erp.post('evt-3')];
  expect(statuses.map(({ status }) => status)).toEqual([500, 201, 201]);
});

test('dropAfterPost applies the posting and breaks the connection', async () => {
  const erp = await start();
  await erp.faults({ dropAfterPost: 1 });
  await expect(erp.post('evt-1')).rejects.toThrow('fetch failed');
  expect(await erp.stats()).toEqual({ postings: 1, distinctReferences: 1, duplicates: 0 });
});

test('a hanging ERP neither answers nor applies, and breaks the held connections when it is healed', async () => {
  const erp = await startProcess();
  await erp.faults({ hang: true });
  const held = await erp.begin('evt-1');
  expect(await erp.request('GET', '/api/receipts')).toMatchObject({ status: 200 }); // look-ups still work
  expect(held.settled()).toBe(false);
  await erp.faults({});
  expect((await held.answer).status).toBe('rejected');
  expect(await erp.post('evt-2')).toMatchObject({ status: 201 });
  expect(await erp.stats()).toMatchObject({ postings: 1 });
});

test('a posting that came while the ERP hung is not applied after it is healed, even if its warehouse was busy', async () => {
  const erp = await startProcess();
  await erp.faults({ latencyMs: WHILE_MS });
  const before = await erp.begin('evt-1');
  await erp.faults({ hang: true });
  const held = await erp.begin('evt-2');
  await erp.faults({});
  expect((await held.answer).status).toBe('rejected');
  expect(await before.answer).toMatchObject({ value: { status: 201 } });
  expect(await erp.stats()).toMatchObject({ postings: 1 });
});

test('postings that were waiting when the ERP began to hang are not applied either', async () => {
  const erp = await startProcess();
  await erp.faults({ latencyMs: WHILE_MS });
  const begun = [await erp.begin('evt-1'), await erp.begin('evt-2')];
  await erp.faults({ hang: true });
  await until('both are held', () => erp.log.filter((line) => line['outcome'] === 'hung').length === 2);
  await erp.faults({});
  for (const { answer } of begun) expect((await answer).status).toBe('rejected');
  expect(await erp.stats()).toMatchObject({ postings: 0 });
});

test.each([{ hang: true }, { latencyMs: NEVER_MS }])(
  'stopping the simulator under %j breaks waiting connections and applies nothing of them',
  async (faults) => {
    const erp = await startProcess();
    await erp.faults(faults);
    const begun = [await erp.begin('evt-1'), await erp.begin('evt-2'), await erp.begin('evt-3', 'south')];
    await erp.kill('SIGTERM');
    for (const { answer } of begun) expect((await answer).status).toBe('rejected');
    expect(erp.child.exitCode).toBe(0); // 70 would be a shutdown that had to be cut off
    expect(erp.log.filter((line) => line['receiptNo'] !== undefined)).toEqual([]);
  },
);

test('uniqueReference refuses a second posting and names the first receipt', async () => {
  const erp = await start();
  await erp.post('evt-1');
  await erp.faults({ uniqueReference: true });
  expect(await erp.post('evt-1')).toEqual({
    status: 409,
    body: { error: expect.stringContaining('evt-1'), receipt_no: 'GR-000001' },
  });
  expect(await erp.stats()).toEqual({ postings: 1, distinctReferences: 1, duplicates: 0 });
});

test('uniqueReference lets exactly one of many parallel postings through, whatever their warehouse', async () => {
  const erp = await start();
  await erp.faults({ uniqueReference: true, latencyMs: 20 });
  const warehouses = Array.from({ length: 20 }, (_, index) => `warehouse-${index % 10}`);
  const answers = await Promise.all(warehouses.map((warehouse) => erp.post('evt-1', warehouse)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  const refused = answers.filter(({ status }) => status === 409);
  expect(refused).toHaveLength(19);
  for (const { body } of refused) expect(body).toMatchObject({ receipt_no: 'GR-000001' });
});

test('an ERP that is down breaks connections of receipts only', async () => {
  const erp = await start();
  await erp.post('evt-1');
  await erp.faults({ down: true });
  await expect(erp.post('evt-2')).rejects.toThrow('fetch failed');
  await expect(erp.request('GET', '/api/receipts?external_reference=evt-1')).rejects.toThrow('fetch failed');
  expect(await erp.stats()).toMatchObject({ postings: 1 });
  await erp.faults({});
  expect(await erp.post('evt-2')).toMatchObject({ status: 201 });
});

function alternate(values: readonly number[]): () => number {
  let next = 0;
  return () => values[next++ % values.length]!;
}
