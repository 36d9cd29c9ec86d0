import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { noTryton, onTryton } from '../../../test/support/tryton.ts';
import { createTrytonAdapter } from '../src/tryton-adapter.ts';
import {
  type TrytonWorld,
  calls,
  find,
  freshReference,
  post,
  startTrytonWorld,
} from './support/tryton-world.ts';

let world: TrytonWorld;
beforeAll(async () => {
  if (noTryton === undefined) world = await startTrytonWorld();
}, 180_000);
afterAll(async () => await world?.[Symbol.asyncDispose](), 60_000);
beforeEach(() => {
  if (world) world.proxy.judge = () => undefined;
});

const forwarded = (method: string): number => world.proxy.forwarded.filter(calls(method)).length;
const logins = (): number => forwarded('common.db.login');

onTryton('calls at once share one login', async () => {
  const before = logins();
  const adapter = world.adapter();
  const found = await Promise.all(Array.from({ length: 10 }, () => find(adapter, freshReference())));
  expect(found).toEqual(Array.from({ length: 10 }, () => ({ kind: 'absent' })));
  expect(logins() - before).toBe(1);
});

onTryton('a session that is over is renewed once for all, in the middle of a posting too', async () => {
  const adapter = world.adapter();
  await find(adapter, 'warm');
  const before = logins();
  await world.tryton.sql('delete from ir_session');
  const found = await Promise.all(Array.from({ length: 10 }, () => find(adapter, freshReference())));
  expect(found).toEqual(Array.from({ length: 10 }, () => ({ kind: 'absent' })));
  expect(logins() - before).toBe(1);

  const reference = freshReference();
  let ended = 0;
  const steps = ['create', 'receive', 'done'].map((step) => calls(`model.stock.shipment.in.${step}`));
  const seen = new Set<number>();
  world.proxy.judge = (request) => {
    const step = steps.findIndex((isStep) => isStep(request));
    if (step === -1 || seen.has(step)) return undefined;
    seen.add(step);
    ended += 1;
    return { kind: 'delayed_request', until: world.tryton.sql('delete from ir_session') };
  };
  expect(await post(adapter, reference)).toMatchObject({ kind: 'posted' });
  expect(ended).toBe(3);
  expect(await world.states(reference)).toEqual(['done']);
});

onTryton('a wrong password is tried once, and the right one is not locked out', async () => {
  const before = logins();
  const adapter = world.adapter({ password: 'not-the-password' });
  const together = await Promise.all(Array.from({ length: 20 }, () => post(adapter, freshReference())));
  const later = [await post(adapter, freshReference()), await find(adapter, freshReference())];
  for (const outcome of [...together, ...later]) {
    expect(outcome).toMatchObject({
      kind: 'failed',
      class: 'http_auth',
      code: '401',
      message: expect.stringMatching(/refuses the login connector: correct the password/),
    });
    expect(JSON.stringify(outcome)).not.toContain('not-the-password');
  }
  expect(later[0]).toMatchObject({ message: expect.stringMatching(/Not tried again for \d+ s/) });
  expect(logins() - before).toBe(1);
  expect(await find(world.adapter(), freshReference())).toEqual({ kind: 'absent' });
});

onTryton('after the pause a login is tried again', async () => {
  const config = { ...world.config({ password: 'still-wrong' }), loginPause: 1 };
  const adapter = createTrytonAdapter(config, world.client);
  const before = logins();
  expect(await find(adapter, 'a')).toMatchObject({ class: 'http_auth' });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await find(adapter, 'a')).toMatchObject({ class: 'http_auth' });
  expect(logins() - before).toBe(2);
  // Forget the wrong ones, as their 5 minutes do: other tests log in.
  await world.tryton.sql('delete from res_user_login_attempt');
});

onTryton('a database that does not exist is named as such', async () => {
  expect(await find(world.adapter({ database: 'nowhere' }), 'a')).toMatchObject({
    kind: 'failed',
    code: '404',
    message: expect.stringMatching(/does not know this database/),
  });
});

onTryton('codes are looked up once until they expire', async () => {
  const adapter = world.adapter();
  const lookUps = (): number => forwarded('model.product.product.search_read');
  const before = lookUps();
  await post(adapter, freshReference());
  await post(adapter, freshReference());
  expect(lookUps() - before).toBe(1);
  const forgetful = world.adapter({ codesCache: 0 });
  await post(forgetful, freshReference());
  await post(forgetful, freshReference());
  expect(lookUps() - before).toBe(3);
});

onTryton(
  'an id that is no more behind its code is looked up again before a document is refused',
  async () => {
    const { sql } = world.tryton;
    // Copies of a product under another code; only the row of the product itself is needed for a receipt.
    const columns = await sql(
      `select string_agg(quote_ident(column_name), ',') from information_schema.columns
      where table_name = 'product_product' and column_name not in ('id', 'code')`,
    );
    const copy = (): Promise<string> =>
      sql(
        `insert into product_product (code, ${columns}) select 'TEMP', ${columns} from product_product where code = 'MILK-1L'`,
      );
    const adapter = world.adapter();
    await copy();
    const lines = [{ product: 'TEMP', quantity: 1, unitPrice: '1' }];
    // The second line is refused, so the first one's product is remembered, but in no document.
    const refused = await post(adapter, freshReference(), {
      lines: [...lines, { product: 'NONE', quantity: 1, unitPrice: '1' }],
    });
    expect(refused).toMatchObject({ kind: 'rejected', message: expect.stringMatching(/NONE/) });
    await sql(`delete from product_product where code = 'TEMP'`);
    await copy();
    const reference = freshReference();
    expect(await post(adapter, reference, { lines })).toMatchObject({ kind: 'posted' });
    expect(await world.states(reference)).toEqual(['done']);
  },
);
