import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { noTryton, onTryton } from '../../../test/support/tryton.ts';
import {
  type TrytonWorld,
  calls,
  find,
  freshReference,
  post,
  startTrytonWorld,
} from './support/tryton-world.ts';

const CREATE = 'model.stock.shipment.in.create';
let world: TrytonWorld;
let reference: string;
beforeAll(async () => {
  if (noTryton === undefined) world = await startTrytonWorld();
}, 180_000);
afterAll(async () => await world?.[Symbol.asyncDispose](), 60_000);
beforeEach(() => {
  reference = freshReference();
  if (world) world.proxy.judge = () => undefined;
});

onTryton('a draft that a crash left is continued, never doubled', async () => {
  const adapter = world.adapter();
  expect(await post(adapter, reference, {}, world.dyingAfter(1))).toMatchObject({ kind: 'withheld' });
  expect(await world.states(reference)).toEqual(['draft']);
  const begun = await find(adapter, reference);
  expect(begun).toEqual({ kind: 'incomplete', receipt: expect.stringMatching(/./) });
  const receipt = begun.kind === 'incomplete' ? begun.receipt : '';

  expect(await post(adapter, reference, {}, world.dyingAfter(1))).toMatchObject({ kind: 'withheld' });
  expect(await world.states(reference)).toEqual(['received']);
  expect(await find(adapter, reference)).toMatchObject({ kind: 'incomplete' });

  expect(await post(world.adapter(), reference)).toMatchObject({ kind: 'posted', receipt });
  expect(await world.states(reference)).toEqual(['done']);
  expect(await find(adapter, reference)).toEqual({ kind: 'found', receipts: [receipt], belongs: true });
  expect(await post(adapter, reference)).toMatchObject({ kind: 'already_posted', receipt });
});

onTryton('processes that post one reference at once leave one receipt, and stock counted once', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 6 }, () => post(world.adapter(), reference, { lines: [flour(3)] })),
  );
  // Whoever lost against others for too long comes back, as the schedule does.
  for (const outcome of outcomes) {
    if (outcome.kind === 'posted' || outcome.kind === 'already_posted') continue;
    expect(['posted', 'already_posted']).toContain((await post(world.adapter(), reference)).kind);
  }
  const states = await world.states(reference);
  expect(states.filter((state) => state !== 'cancelled')).toEqual(['done']);
  expect(
    await world.tryton.sql(
      `select sum(quantity) from stock_move where state = 'done' and origin is null and shipment in
         (select 'stock.shipment.in,' || id from stock_shipment_in where reference = '${reference}')
         and to_location = (select input_location from stock_location where code = 'WH')`,
    ),
  ).toBe('3');
});

onTryton('a unique index of the ERP’s own makes no difference', async () => {
  await world.tryton.sql(
    `create unique index h on stock_shipment_in (company, reference) where reference like 'unique-%'`,
  );
  try {
    const one = `unique-${reference}`;
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => post(world.adapter(), one)));
    expect(outcomes.filter(({ kind }) => kind !== 'posted' && kind !== 'already_posted')).toEqual([]);
    expect(await world.states(one)).toEqual(['done']);
    // A cancelled receipt still holds the reference there: only a person can free it.
    const cancelled = `unique-${freshReference()}`;
    await post(world.adapter(), cancelled, {}, world.dyingAfter(1));
    await world.tryton.sql(
      `update stock_shipment_in set state = 'cancelled' where reference = '${cancelled}'`,
    );
    expect(await post(world.adapter(), cancelled)).toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('duplicate key'),
    });
  } finally {
    await world.tryton.sql('drop index h');
  }
});

const flour = (quantity: number): object => ({ product: 'FLOUR-550', quantity, unitPrice: '0.60' });

onTryton('parallel receipts of an average-cost product are all posted, once each', async () => {
  const adapter = world.adapter();
  const references = Array.from({ length: 10 }, freshReference);
  let open = references;
  for (let round = 0; round < 5 && open.length > 0; round += 1) {
    const outcomes = await Promise.all(open.map((each) => post(adapter, each, { lines: [flour(1)] })));
    // A collision was rolled back: surely not applied, and never a dead letter by itself.
    for (const { kind } of outcomes) expect(['posted', 'already_posted', 'failed']).toContain(kind);
    open = open.filter((_, index) => outcomes[index]?.kind === 'failed');
  }
  expect(open).toEqual([]);
  for (const each of references) expect(await world.states(each)).toEqual(['done']);
});

// The one case that no client can exclude: the write was on the wire while its sender was frozen past its lease.
onTryton(
  'a create that arrives after somebody else has posted leaves a draft, without effect and visible',
  async () => {
    const adapter = world.adapter();
    const released = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let held = false;
    world.proxy.judge = (request) => {
      if (held || !calls(CREATE)(request)) return undefined;
      held = true;
      reached.resolve();
      return { kind: 'delayed_request', until: released.promise };
    };
    let frozen = false;
    const late = post(world.adapter(), reference, {}, () => !frozen);
    await reached.promise;
    frozen = true; // its lease is over; what it wrote is under way
    const since = Date.now() - 60_000;
    const before = await adapter.count?.();
    expect(await post(adapter, reference)).toMatchObject({ kind: 'posted' });
    released.resolve();
    // It wakes to find the receipt that the other made, and may not write any more.
    expect(await late).toMatchObject({ kind: 'already_posted' });
    await world.proxy.idle();
    expect(await world.states(reference)).toEqual(['done', 'draft']);
    expect(await find(adapter, reference)).toMatchObject({ kind: 'found', receipts: [expect.any(String)] });
    expect(await adapter.count?.()).toBe((before ?? 0) + 1);
    const listed = await Array.fromAsync(adapter.list?.(since) ?? []);
    expect(
      listed.filter((document) => document.reference === reference).map(({ complete }) => complete),
    ).toEqual([true, false]);
    // Whoever posts under the reference again clears it away.
    expect(await post(adapter, reference)).toMatchObject({ kind: 'already_posted' });
    expect(await world.states(reference)).toEqual(['done', 'cancelled']);
  },
);

onTryton('what a person cancelled in the ERP is not there any more, and may be posted again', async () => {
  const adapter = world.adapter();
  await post(adapter, reference, {}, world.dyingAfter(1));
  const ids = await world.admin(
    'model.stock.shipment.in.search',
    [['reference', '=', reference]],
    0,
    1,
    null,
  );
  await world.admin('model.stock.shipment.in.cancel', ids);
  expect(await find(adapter, reference)).toEqual({ kind: 'absent' });
  expect(await post(adapter, reference)).toMatchObject({ kind: 'posted' });
  expect(await world.states(reference)).toEqual(['cancelled', 'done']);
});

onTryton('a receipt of another supplier under our reference is a conflict, never ours', async () => {
  const adapter = world.adapter();
  expect(await post(adapter, reference, { supplier: 'SUP-2' })).toMatchObject({ kind: 'posted' });
  expect(await find(adapter, reference)).toMatchObject({ kind: 'found', belongs: false });
  expect(await post(adapter, reference)).toEqual({ kind: 'reference_conflict', code: '' });
  expect(await world.states(reference)).toEqual(['done']);
});

onTryton(
  'a receipt that a person typed in counts when it is done, and is theirs to finish before',
  async () => {
    const adapter = world.adapter();
    const person = world.adapter({ login: 'admin', password: world.tryton.adminPassword });
    await post(person, reference, {}, world.dyingAfter(1));
    expect(await world.states(reference)).toEqual(['draft']);
    expect(await find(adapter, reference)).toMatchObject({ kind: 'found', belongs: false });
    expect(await post(adapter, reference)).toMatchObject({ kind: 'reference_conflict' });
    expect(await post(person, reference)).toMatchObject({ kind: 'posted' });
    expect(await post(adapter, reference)).toMatchObject({ kind: 'already_posted' });
    expect(await world.states(reference)).toEqual(['done']);
  },
);
