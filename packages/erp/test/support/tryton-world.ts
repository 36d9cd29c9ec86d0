import { randomUUID } from 'node:crypto';
import { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { type FaultyProxy, type Passing, startFaultyProxy } from '../../../../test/support/faulty-proxy.ts';
import { type Tryton, startTryton } from '../../../../test/support/tryton.ts';
import type { ErpAdapter, FindResult, PostResult } from '../../src/adapter.ts';
import { createTrytonAdapter } from '../../src/tryton-adapter.ts';
import { type Rpc, createRpc } from '../../src/tryton-rpc.ts';
import { eventOf } from './events.ts';

export const calls =
  (method: string) =>
  ({ body }: Passing): boolean =>
    body.includes(`"method":"${method}"`);

export const RECEIPT = {
  supplier: 'SUP-1',
  warehouse: 'WH',
  lines: [{ product: 'MILK-1L', quantity: 2, unitPrice: '0.95' }],
};

/** A real Tryton with the faulty proxy in front. */
export interface TrytonWorld extends AsyncDisposable {
  readonly tryton: Tryton;
  readonly proxy: FaultyProxy;
  readonly client: HttpClient;
  readonly config: (changes?: object) => TrytonAdapter;
  /** An adapter with a session and a memory of its own, through the proxy. */
  readonly adapter: (changes?: object) => ErpAdapter;
  /** The administrator's own calls. */
  readonly admin: (method: string, ...params: readonly unknown[]) => Promise<unknown>;
  readonly states: (reference: string) => Promise<readonly string[]>;
  /** `mayWrite` of a process that dies after so many writes to the ERP, counted from now. */
  readonly dyingAfter: (writes: number) => () => boolean;
}

export async function startTrytonWorld(): Promise<TrytonWorld> {
  const stack = new AsyncDisposableStack();
  const tryton = stack.use(await startTryton());
  const client = createHttpClient({});
  stack.defer(() => client.close());
  const proxy = stack.use(await startFaultyProxy(tryton.url));
  const { database, login, password } = tryton;
  const config = (changes: object = {}): TrytonAdapter =>
    TrytonAdapter.parse({ kind: 'tryton', baseUrl: proxy.url, database, login, password, ...changes });
  const admin: Rpc = createRpc(
    client,
    config({ baseUrl: tryton.url, login: 'admin', password: tryton.adminPassword }),
  );
  return {
    tryton,
    proxy,
    client,
    config,
    adapter: (changes) => createTrytonAdapter(config(changes), client),
    async admin(method, ...params) {
      const caller = { deadline: performance.now() + 30_000, guard: { mayWrite: () => true } };
      const answer = await admin.write(method, () => params, caller);
      if (answer.kind !== 'result') throw new Error(answer.message);
      return answer.value;
    },
    async states(reference) {
      const rows = await tryton.sql(
        `select state from stock_shipment_in where reference = '${reference}' order by id`,
      );
      return rows === '' ? [] : rows.split('\n');
    },
    dyingAfter(writes) {
      const from = proxy.forwarded.length;
      return () => proxy.forwarded.slice(from).filter(isStep).length < writes;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const isStep = ({ body }: Passing): boolean =>
  /"method":"model\.stock\.shipment\.in\.(?:create|receive|done)"/.test(body);

export const freshReference = (): string => `evt-${randomUUID()}`;

export const post = (
  adapter: ErpAdapter,
  reference: string,
  changes: object = {},
  mayWrite: () => boolean = () => true,
): Promise<PostResult> => adapter.post({ ...RECEIPT, ...changes }, reference, { mayWrite });

export const find = async (
  adapter: ErpAdapter,
  reference: string,
  changes: object = {},
): Promise<FindResult> => {
  const found = await adapter.find?.(reference, eventOf({}), { ...RECEIPT, ...changes });
  if (!found) throw new Error('this adapter cannot look up');
  return found;
};
