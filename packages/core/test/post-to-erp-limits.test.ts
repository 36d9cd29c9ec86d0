import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { memoryOfJson } from '@breakwater/erp/json';
import { startSimulator } from '@breakwater/erp-simulator/app';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import type { Go } from '@breakwater/store/go';
import { createKeyspace } from '@breakwater/store/keys';
import { expect, test } from '@jest/globals';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { startClock } from '../src/attempt-clock.ts';
import { createErpPoster } from '../src/post-to-erp.ts';
import { afterwards, silent } from './support/acceptor.ts';

type Target = BreakwaterConfig['erpTargets'][string];
type Http = Extract<Target['adapter'], { kind: 'http' }>;

/** The demonstration's target, changed, in front of a simulator of its own. */
async function open(change: (target: Target, adapter: Http) => void, heapBytes?: number) {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, logger: silent });
  afterwards(() => simulator.close());
  const url = `http://127.0.0.1:${simulator.port}`;
  const client = createHttpClient({});
  afterwards(() => client.close());
  const redis = connectRedis(sharedRedisUrl(), 'scripts', silent);
  afterwards(() => closeRedis(redis));
  const env = { ERP_SIMULATOR_URL: url };
  const config = structuredClone(loadConfig(readEnvironment(env), env));
  const target = config.erpTargets['receipts'];
  if (target?.adapter.kind !== 'http') throw new Error('the demonstration has another target');
  change(target, target.adapter);
  const atOnce = { now: 0, most: 0 };
  const perform = createErpPoster({
    redis,
    keys: createKeyspace('post-to-erp-limits'),
    targets: createErpTargets(config, client),
    guarded: async (_target, _probe, call) => {
      atOnce.most = Math.max(atOnce.most, (atOnce.now += 1));
      try {
        return await call();
      } finally {
        atOnce.now -= 1;
      }
    },
    signal: new AbortController().signal,
    ...(heapBytes !== undefined && { heapBytes }),
  });
  return {
    atOnce,
    faults: (faults: object) =>
      fetch(`${url}/api/faults`, { method: 'PUT', body: JSON.stringify(faults), headers: JSON_TYPE }),
    /** A receipt that somebody posted. */
    post: (receipt: object) =>
      fetch(`${url}/api/receipts`, { method: 'POST', body: JSON.stringify(receipt), headers: JSON_TYPE }),
    attempt: (body: object, more: Partial<Go> = {}) =>
      perform({ ...GO, ...more }, { ...EVENT, body: Buffer.from(JSON.stringify(body)) }, startClock()),
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const GO: Go = {
  delivery: 'AAAAAAAAAAAAAAAAAAAAAA.erp_receipts',
  alarmId: 'AAAAAAAAAAAAAAAAAAAAAA.erp_receipts-1',
  attempt: 1,
  trigger: 'schedule',
  scheduleMade: 0,
  reference: 'evt-1',
  doubt: false,
  lookupFor: '',
  leaseMs: 60_000,
  bodyBytes: 0,
  probe: false,
};
const EVENT = {
  key: 'AAAAAAAAAAAAAAAAAAAAAA',
  operator: 'default',
  source: 'demo-payments',
  eventId: 'evt-1',
  type: 'order.paid',
  entity: 'o-1',
  contentType: 'application/json',
  receivedAt: Date.now(),
  plan: [],
};
const ORDER = { event_id: 'evt-1', type: 'order.paid', order_id: 'o-1', warehouse: 'W1', lines: [] };
const RECEIPT = { external_reference: 'evt-1', order_id: 'o-1', warehouse: 'W1', lines: [] };

test('a document that is there, and cannot be compared since the mapping fails by now, is no conflict: a person decides', async () => {
  const { post, attempt } = await open((target, adapter) => {
    target.document = `data.broken ? $error("no longer mapped") : ${target.document}`;
    adapter.find!.sameEvent = 'hit.order_id = document.order_id';
  });
  await post(RECEIPT);
  expect(await attempt({ ...ORDER, broken: true }, { lookupFor: 'exhausted', doubt: true })).toMatchObject({
    kind: 'rejected',
    class: 'mapping',
    message: expect.stringMatching(
      /holds a document under evt-1, and whose it is cannot be told.*no longer mapped/,
    ),
  });
  expect(await attempt({ ...ORDER, order_id: 'another' }, { lookupFor: 'exhausted' })).toMatchObject({
    kind: 'reference_conflict',
  });
  expect(await attempt(ORDER, { lookupFor: 'exhausted' })).toMatchObject({ kind: 'already_posted' });
});

test('an ERP that says "duplicate" and then not whose it is has proved nothing', async () => {
  const { post, attempt, faults } = await open((target, adapter) => {
    target.lookup = 'after_unknown';
    adapter.find!.path = '"/nowhere"';
  });
  await faults({ uniqueReference: true });
  await post({ ...RECEIPT, order_id: 'another' });
  expect(await attempt(ORDER)).toMatchObject({ kind: 'unknown', code: '409' });
});

const LARGE = { ...ORDER, lines: Array.from({ length: 2_000 }, () => ({})) };
/** What an attempt with it is thought to take. */
const TAKES = 2 * memoryOfJson(Buffer.from(JSON.stringify(LARGE)));

test('large documents are posted one after the other where memory is short, and small ones with them', async () => {
  const { attempt, atOnce, faults } = await open(() => undefined, TAKES * 4); // 40% of it are for documents: one
  await faults({ latencyMs: 100 });
  const large = ['W1', 'W2', 'W3'].map((warehouse) =>
    attempt({ ...LARGE, warehouse }, { reference: warehouse }),
  );
  expect((await Promise.all(large)).map(({ kind }) => kind)).toEqual(['posted', 'posted', 'posted']);
  expect(atOnce.most).toBe(1);
  const small = ['a', 'b', 'c'].map((reference) =>
    attempt({ ...ORDER, warehouse: reference }, { reference }),
  );
  expect((await Promise.all(small)).map(({ kind }) => kind)).toEqual(['posted', 'posted', 'posted']);
  expect(atOnce.most).toBe(3);
});

test('who waits for memory for long sends nothing and uses up nothing, and small ones do not wait behind', async () => {
  const { attempt, atOnce, faults } = await open(() => undefined, TAKES * 4);
  await faults({ latencyMs: 7_000 });
  const first = attempt(LARGE, { reference: 'first' });
  const second = attempt(LARGE, { reference: 'second' });
  const small = attempt({ ...ORDER, warehouse: 'W2' }, { reference: 'small' });
  expect(await second).toMatchObject({ kind: 'deferred' });
  expect(atOnce.now).toBe(2); // the first and the small one
  expect(await small).toMatchObject({ kind: 'posted' });
  expect(await first).toMatchObject({ kind: 'posted' });
}, 30_000);

test('a document that would end the process is refused before it is read, with what to do', async () => {
  const { attempt } = await open(() => undefined, TAKES / 2);
  expect(await attempt(LARGE)).toMatchObject({
    kind: 'rejected',
    class: 'mapping',
    message: expect.stringMatching(/takes about \d+ MiB of memory .* then replay/),
  });
  expect(await attempt(ORDER)).toMatchObject({ kind: 'posted' });
});
