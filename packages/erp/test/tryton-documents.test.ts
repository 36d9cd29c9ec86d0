import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { noTryton, onTryton } from '../../../test/support/tryton.ts';
import { type TrytonWorld, find, freshReference, post, startTrytonWorld } from './support/tryton-world.ts';

let world: TrytonWorld;
let reference: string;
beforeAll(async () => {
  if (noTryton === undefined) world = await startTrytonWorld();
}, 180_000);
afterAll(async () => await world?.[Symbol.asyncDispose](), 60_000);
beforeEach(() => void (reference = freshReference()));

const line = (changes: object = {}): object => ({
  product: 'MILK-1L',
  quantity: 2,
  unitPrice: '0.95',
  ...changes,
});

onTryton('decimals arrive exactly as written, dates as days, and units and EANs are found', async () => {
  const outcome = await post(world.adapter(), reference, {
    plannedDate: '2026-02-28',
    effectiveDate: '2026-02-27',
    lines: [
      line({ unitPrice: '0.1234' }),
      line({ product: undefined, ean: '4000417025005', quantity: '1500', uom: 'g', unitPrice: 0.1 }),
    ],
  });
  expect(outcome).toMatchObject({ kind: 'posted' });
  const moves = await world.tryton.sql(
    `select p.code, m.quantity, u.symbol, m.unit_price, m.effective_date
       from stock_move m join product_product p on p.id = m.product join product_uom u on u.id = m.uom
      where m.unit_price is not null and m.shipment in
        (select 'stock.shipment.in,' || id from stock_shipment_in where reference = '${reference}') order by m.id`,
  );
  expect(moves.split('\n')).toEqual(['MILK-1L|2|u|0.1234|2026-02-27', 'FLOUR-550|1500|g|0.1|2026-02-27']);
  expect(
    await world.tryton.sql(
      `select planned_date, effective_date from stock_shipment_in where reference = '${reference}'`,
    ),
  ).toBe('2026-02-28|2026-02-27');
});

onTryton('a code that the ERP does not know is refused in a sentence, and nothing is made', async () => {
  const adapter = world.adapter();
  const cases: readonly (readonly [object, string])[] = [
    [{ supplier: 'SUP-9' }, 'The ERP knows no party SUP-9.'],
    [{ warehouse: 'NOWHERE' }, 'The ERP knows no warehouse NOWHERE.'],
    [{ lines: [line(), line({ product: 'NONE' })] }, 'The ERP knows no product NONE.'],
    [{ lines: [line({ product: undefined, ean: '123' })] }, 'The ERP knows no product with EAN 123.'],
    [{ lines: [line({ uom: 'furlong' })] }, 'The ERP knows no unit furlong.'],
    [{ lines: [line({ uom: 'g' })] }, 'The ERP does not measure MILK-1L in g.'],
  ];
  for (const [changes, message] of cases)
    expect(await post(adapter, reference, changes)).toEqual({ kind: 'rejected', code: '', message });
  expect(await world.states(reference)).toEqual([]);
});

onTryton('a code that two records share is refused rather than guessed', async () => {
  const { sql } = world.tryton;
  const columns = await sql(
    `select string_agg(quote_ident(column_name), ',') from information_schema.columns
      where table_name = 'stock_location' and column_name != 'id'`,
  );
  const copy = `insert into stock_location (${columns}) select ${columns} from stock_location where code = 'WH'`;
  const [id] = (await sql(`${copy} returning id`)).split('\n');
  expect(await post(world.adapter(), reference)).toMatchObject({
    kind: 'rejected',
    message: 'The ERP knows more than one warehouse WH.',
  });
  await sql(`delete from stock_location where id = ${id}`);
  expect(await post(world.adapter(), reference)).toMatchObject({ kind: 'posted' });
});

onTryton('a mapping that gives no receipt is told what is missing, before anything is sent', async () => {
  const adapter = world.adapter();
  const before = world.proxy.forwarded.length;
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ supplier: undefined }, /supplier/],
    [{ lines: [] }, /lines/],
    [{ lines: [line({ quantity: 0 })] }, /lines\.0\.quantity: expected a number over 0/],
    [{ lines: [line({ quantity: '1e3' })] }, /lines\.0\.quantity: expected a decimal/],
    [{ lines: [line({ ean: '1' })] }, /expected product or ean/],
    [{ lines: [line({ unitPrice: null })] }, /lines\.0\.unitPrice/],
    [{ effectiveDate: '2026-02-30' }, /effectiveDate/],
    [{ supplier: 'a\0b' }, /supplier: holds a character/],
    [{ colour: 'red' }, /colour/],
  ];
  for (const [changes, message] of cases) {
    expect(await post(adapter, reference, changes)).toMatchObject({
      kind: 'failed',
      class: 'mapping',
      message: expect.stringMatching(message),
    });
  }
  for (const bad of ['a\0b', ' a', 'a\n', '\ud800']) {
    expect(await post(adapter, bad)).toMatchObject({ kind: 'failed', class: 'mapping' });
    expect(await find(adapter, bad)).toMatchObject({ kind: 'failed', class: 'mapping' });
  }
  expect(world.proxy.forwarded.length).toBe(before);
});

onTryton(
  'what the ERP refuses is refused in its own words, and the words of the configuration decide',
  async () => {
    const half = { lines: [line({ quantity: 1.5 })] };
    const refused = await post(world.adapter(), reference, half);
    expect(refused).toMatchObject({
      kind: 'rejected',
      message: expect.stringMatching(/number of digits in the value "1\.5"/),
      sample: { contentType: 'application/json', text: expect.stringContaining('UserError') },
    });
    const patient = world.adapter({ errors: { failed: ['number of digits'] } });
    expect(await post(patient, reference, half)).toMatchObject({ kind: 'failed' });
    expect(await world.states(reference)).toEqual([]);
  },
);

onTryton(
  'a locked period refuses the document before there is a draft, and a replay posts it once it is open',
  async () => {
    const period = await world.admin('model.stock.period.create', [
      { company: 1, date: { __class__: 'date', year: 2020, month: 1, day: 31 } },
    ]);
    await world.admin('model.stock.period.close', period);
    const dated = { effectiveDate: '2020-01-15' };
    const adapter = world.adapter();
    expect(await post(adapter, reference, dated)).toMatchObject({
      kind: 'rejected',
      message: expect.stringMatching(/must reopen period/),
    });
    expect(await world.states(reference)).toEqual([]);
    await world.admin('model.stock.period.draft', period);
    expect(await post(adapter, reference, dated)).toMatchObject({ kind: 'posted' });
  },
);

onTryton('a warning is a person’s to answer, or the configuration’s', async () => {
  const future = { effectiveDate: '2036-01-15' };
  const refused = await post(world.adapter(), reference, future);
  expect(refused).toMatchObject({
    kind: 'rejected',
    message: expect.stringMatching(/effective dates in the future.*waits for a person's yes/),
    sample: { text: expect.stringContaining('UserWarning') },
  });
  const patient = world.adapter({ warnings: { otherwise: 'failed' } });
  expect(await post(patient, reference, future)).toMatchObject({ kind: 'failed' });
  const other = world.adapter({ warnings: { accept: ['another_warning'] } });
  expect(await post(other, reference, future)).toMatchObject({ kind: 'rejected' });
  const bold = world.adapter({ warnings: { accept: ['effective_date_future'] } });
  expect(await post(bold, reference, future)).toMatchObject({ kind: 'posted' });
  expect(await world.states(reference)).toEqual(['done']); // one, in spite of four tries
});

onTryton(
  'a login without rights is the installation’s fault: failed, and no document is buried for it',
  async () => {
    await world.admin('model.res.user.create', [
      {
        name: 'No rights',
        login: 'powerless',
        password: 'Gate7-kumo-No',
        companies: [['add', [1]]],
        company: 1,
      },
    ]);
    const powerless = world.adapter({ login: 'powerless', password: 'Gate7-kumo-No' });
    for (const outcome of [await post(powerless, reference), await find(powerless, reference)]) {
      expect(outcome).toMatchObject({
        kind: 'failed',
        class: 'http_auth',
        message: expect.stringMatching(/not allowed to access/),
      });
    }
  },
);
