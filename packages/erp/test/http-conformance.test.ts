import { startSimulator } from '@breakwater/erp-simulator/app';
import { createHttpClient } from '@breakwater/http/client';
import { createLogger } from '@breakwater/runtime/logger';
import { startFaultyProxy } from '../../../test/support/faulty-proxy.ts';
import type { ErpAdapter } from '../src/adapter.ts';
import { createErpTargets } from '../src/targets.ts';
import { type World, describeConformance } from './support/conformance.ts';
import { demonstration } from './support/demonstration.ts';
import { eventOf } from './support/events.ts';

async function start(): Promise<World> {
  const stack = new AsyncDisposableStack();
  const logger = createLogger({ service: 'erp-simulator', level: 'silent' });
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, logger });
  stack.defer(() => simulator.close());
  const url = `http://127.0.0.1:${simulator.port}`;
  const client = createHttpClient({});
  stack.defer(() => client.close());
  const proxy = stack.use(await startFaultyProxy(url));
  const through = (baseUrl: string): ErpAdapter => {
    const target = createErpTargets(demonstration({ ERP_SIMULATOR_URL: baseUrl }), client).get('receipts');
    if (!target) throw new Error('the demonstration has no ERP target called receipts');
    return target.adapter;
  };
  return {
    adapter: through(proxy.url),
    direct: through(url),
    proxy,
    through,
    document: (reference) => ({
      document: { external_reference: reference, order_id: 'o-1', warehouse: 'north', lines: [{ sku: 'A' }] },
      event: eventOf({ order_id: 'o-1' }, reference),
    }),
    async documents(reference) {
      const answer = await fetch(`${url}/api/receipts?external_reference=${encodeURIComponent(reference)}`);
      return ((await answer.json()) as { receipts: unknown[] }).receipts.length;
    },
    async doubles() {
      const answer = await fetch(`${url}/api/receipts?limit=1000`);
      const { receipts } = (await answer.json()) as { receipts: { external_reference: string }[] };
      const counts = Map.groupBy(receipts, (receipt) => receipt.external_reference);
      return [...counts].filter(([, held]) => held.length > 1).map(([reference]) => reference);
    },
    anotherProxy: () => startFaultyProxy(url),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describeConformance({
  name: 'http',
  start,
  steps: { post: ({ method }) => method === 'POST' },
  isLookUp: ({ method }) => method === 'GET',
  statusDecides: true,
  afterTwice: 2, // this ERP takes duplicates, and a request that the network doubles is nobody's to refuse but its
});
