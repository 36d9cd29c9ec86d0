import { expect, test } from '@jest/globals';
import type { ReconcileCursor } from '../src/reconcile-cursor.ts';
import { reconcile } from '../src/reconcile.ts';
import { Tally } from '../src/reconciliation-results.ts';
import { openReconciling } from './support/reconciling.ts';

test('a second document, one that is gone, and one of nobody’s reference are each named', async () => {
  const world = await openReconciling();
  const [twice, gone, well] = [
    await world.posted('evt-twice'),
    await world.posted('evt-gone'),
    await world.posted('evt-well'),
  ];
  await world.age(twice.id, gone.id, well.id);
  const second = await world.post('evt-twice');
  const strange = await world.post('order-of-a-stranger');
  await world.cancel(gone.receipt);

  expect((await world.reconcile()).findings).toEqual([]); // our own records are all as they should be
  const { findings, deep } = await world.reconcile({ deep: true });
  expect(findings).toMatchObject([
    {
      kind: 'duplicate',
      why: 'two_documents',
      eventId: 'evt-twice',
      delivery: twice.id,
      receipts: [twice.receipt, second],
    },
    { kind: 'foreign', why: 'never_accepted', reference: 'order-of-a-stranger', receipts: [strange] },
    { kind: 'missing', why: 'not_at_erp', eventId: 'evt-gone', delivery: gone.id, receipts: [gone.receipt] },
  ]);
  expect(deep).toEqual({ kind: 'done', documents: 4, asked: 1 }); // the one that is gone was asked for by name
  expect(await world.redis.keys(`${world.keys.prefix}documents:*`)).toEqual([]);
});

test('two creating answers are no finding any more once the ERP holds one document', async () => {
  const world = await openReconciling();
  const { id } = await world.posted('evt-1');
  await world.age(id);
  const second = await world.post('evt-1');
  await world.redis.hset(world.keys.delivery(id), 'created', 2);
  expect((await world.reconcile()).findings).toMatchObject([{ why: 'two_answers' }]);
  expect((await world.reconcile({ deep: true })).findings).toMatchObject([{ why: 'two_documents' }]);
  await world.cancel(second);
  const healed = await world.reconcile({ deep: true });
  expect(healed.findings).toEqual([]);
  expect(healed.pages.flatMap(({ settled }) => settled)).toEqual([id]);
});

test('an ERP that does not answer takes nothing from what the records say, and that it was not asked is told', async () => {
  const world = await openReconciling();
  const { id } = await world.posted('evt-1');
  await world.age(id);
  const open = await world.accept('evt-2');
  await world.faults({ down: true });
  const { findings, deep } = await world.reconcile({ deep: true });
  expect(findings).toMatchObject([{ delivery: open, why: 'past_due' }]); // and evt-1 does not count as gone
  expect(deep).toEqual({ kind: 'skipped', reason: expect.stringContaining('did not list its documents') });
});

test('an ERP that cannot list is asked for each reference', async () => {
  const world = await openReconciling((config) => {
    const { receipts } = config.erpTargets;
    if (receipts?.adapter.kind !== 'http') throw new Error('the demonstration has changed');
    const { list: _list, ...adapter } = receipts.adapter;
    return { ...config, erpTargets: { receipts: { ...receipts, adapter } } };
  });
  const [twice, gone, well] = [
    await world.posted('evt-twice'),
    await world.posted('evt-gone'),
    await world.posted('evt-well'),
  ];
  await world.age(twice.id, gone.id, well.id);
  const second = await world.post('evt-twice');
  await world.cancel(gone.receipt);
  const { findings, deep } = await world.reconcile({ deep: true });
  expect(findings.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toMatchObject([
    { kind: 'duplicate', why: 'two_documents', eventId: 'evt-twice', receipts: [twice.receipt, second] },
    { kind: 'missing', why: 'not_at_erp', eventId: 'evt-gone' },
  ]);
  expect(deep).toMatchObject({ kind: 'done', asked: 3 });
  await world.faults({ down: true });
  expect(await world.reconcile({ deep: true })).toMatchObject({ findings: [], deep: { kind: 'skipped' } });
});

test('a reference that is not the event id finds its event, and a document of an older event is not foreign', async () => {
  const world = await openReconciling((config) => {
    const { receipts } = config.erpTargets;
    if (!receipts) throw new Error('the demonstration has changed');
    return { ...config, erpTargets: { receipts: { ...receipts, reference: '"bw-" & eventId' } } };
  });
  const id = await world.accept('evt-1');
  const receipt = await world.post('bw-evt-1');
  await world.attempt(id, 'posted', receipt);
  await world.age(id);
  expect(await world.reconcile({ deep: true })).toMatchObject({ findings: [], deep: { documents: 1 } });
  // Accepted long before the range, posted within it.
  const [event = ''] = id.split('.');
  await world.redis.zadd(world.keys.recorded, Date.now() - 86_400_000, event);
  await world.redis.hset(world.keys.delivery(id), 'createdAt', Date.now() - 86_400_000);
  expect((await world.reconcile({ deep: true })).findings).toEqual([]);
  const second = await world.post('bw-evt-1');
  expect((await world.reconcile({ deep: true })).findings).toMatchObject([
    { kind: 'duplicate', reference: 'bw-evt-1', receipts: [receipt, second] },
  ]);
});

test('the document of an event whose delivery record is lost is not foreign, and what was posted a moment ago is not gone', async () => {
  const world = await openReconciling((config) => {
    const { receipts } = config.erpTargets;
    if (!receipts) throw new Error('the demonstration has changed');
    return { ...config, erpTargets: { receipts: { ...receipts, reference: '"bw-" & eventId' } } };
  });
  const lost = await world.accept('evt-1');
  await world.attempt(lost, 'posted', await world.post('bw-evt-1'));
  await world.age(lost);
  await world.redis.del(world.keys.delivery(lost));
  const fresh = await world.accept('evt-2');
  await world.attempt(fresh, 'posted', 'GR-not-listed-yet'); // the list may be older than the answer
  const { findings } = await world.reconcile({ deep: true });
  expect(findings.map(({ why, delivery }) => [why, delivery])).toEqual([['record_lost', lost]]);
});

test('a deep reconciliation that was cut off goes on by its cursor, with what the ERP had listed', async () => {
  const world = await openReconciling();
  const ids: string[] = [];
  for (let index = 0; index < 120; index += 1) ids.push((await world.posted(`evt-${index}`)).id);
  await world.age(...ids);
  await world.redis.hset(world.keys.delivery(ids[0]!), 'receipt', ''); // an ERP that did not say
  const second = await world.post('evt-119');
  const whole = await world.reconcile({ deep: true });
  const key = (findings: typeof whole.findings): string[] =>
    findings.map(({ why, receipts }) => `${why} ${String(receipts)}`);
  expect(key(whole.findings)).toEqual([`two_documents GR-000120,${second}`]);
  for (const stopAfter of [1, 2]) {
    const { pages } = await world.reconcile({ deep: true });
    const first = pages.slice(0, stopAfter);
    // As the process left it that was cut off there: the end of the whole run has forgotten what was listed.
    const cut = first.at(-1)!.cursor!;
    const rest = await world.reconcile({ deep: true, cursor: { ...cut, phase: 'documents', listedTo: 0 } });
    expect(key(rest.findings)).toEqual(key(whole.findings));
  }
  const { pages } = await world.reconcile({ deep: true });
  const forgotten = await world.reconcile({
    cursor: pages.find(({ cursor }) => cursor?.phase === 'records')!.cursor,
  });
  expect(forgotten.deep).toMatchObject({ kind: 'skipped' }); // and not: everything is gone
  expect(forgotten.findings).toEqual([]);
});

test('a list that is gone on with tells the documents at its place again, and each of them counts once', async () => {
  const world = await openReconciling();
  for (let nth = 0; nth < 120; nth += 1) await world.post(`nobodys-${nth}`); // more than one page of the list
  const range = { since: Date.now() - 3_600_000, until: Date.now() + 60_000 };
  const input = { target: world.target, ...range, deep: true };
  const before = new Tally(undefined);
  let cursor: ReconcileCursor | undefined;
  for await (const page of reconcile(world, input)) {
    for (const finding of page.findings) before.add(finding);
    cursor = page.cursor;
    break; // the console is stopped here
  }
  expect(before.deepPart(0, 0).counts.foreign).toBe(100);
  const after = new Tally(undefined, before.deepPart(0, 0));
  let again = 0;
  for await (const page of reconcile(world, { ...input, cursor }))
    for (const finding of page.findings) {
      again += 1;
      after.add(finding);
    }
  expect(again).toBeGreaterThan(20);
  expect(after.deepPart(0, 0).counts.foreign).toBe(120);
});
