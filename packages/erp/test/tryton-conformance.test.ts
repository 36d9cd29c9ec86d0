import { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import { createHttpClient } from '@breakwater/http/client';
import { startFaultyProxy } from '../../../test/support/faulty-proxy.ts';
import { testUnless } from '../../../test/support/test-unless.ts';
import { noTryton, startTryton } from '../../../test/support/tryton.ts';
import { createTrytonAdapter } from '../src/tryton-adapter.ts';
import { type World, describeConformance } from './support/conformance.ts';
import { eventOf } from './support/events.ts';

const calls =
  (method: string) =>
  ({ body }: { readonly body: string }): boolean =>
    body.includes(`"method":"model.stock.shipment.in.${method}"`);

async function start(): Promise<World> {
  const stack = new AsyncDisposableStack();
  const tryton = stack.use(await startTryton());
  const client = createHttpClient({});
  stack.defer(() => client.close());
  const proxy = stack.use(await startFaultyProxy(tryton.url));
  const { database, login, password } = tryton;
  const through = (url: string): ReturnType<typeof createTrytonAdapter> =>
    createTrytonAdapter(
      TrytonAdapter.parse({ kind: 'tryton', baseUrl: url, database, login, password }),
      client,
    );
  const document = {
    supplier: 'SUP-1',
    warehouse: 'WH',
    lines: [{ product: 'MILK-1L', quantity: 2, unitPrice: '0.95' }],
  };
  return {
    adapter: through(proxy.url),
    direct: through(tryton.url),
    proxy,
    through,
    document: (reference) => ({ document, event: eventOf(document, reference) }),
    documents: async (reference) =>
      Number(
        await tryton.sql(
          `select count(*) from stock_shipment_in where reference = '${reference}' and state = 'done'`,
        ),
      ),
    async doubles() {
      const rows = await tryton.sql(
        `select reference from stock_shipment_in where state != 'cancelled' group by reference having count(*) > 1`,
      );
      return rows === '' ? [] : rows.split('\n');
    },
    anotherProxy: () => startFaultyProxy(tryton.url),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

if (noTryton === undefined) {
  describeConformance({
    name: 'tryton',
    start,
    steps: { create: calls('create'), receive: calls('receive'), done: calls('done') },
    isLookUp: calls('search_read'),
    statusDecides: false,
    afterTwice: 1, // only a draft is doubled, and it is cancelled
  });
} else testUnless(noTryton)('the tryton adapter keeps the promises of every adapter', () => {});
