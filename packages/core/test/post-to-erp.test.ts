import { startSimulator } from '@breakwater/erp-simulator/app';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import type { AttemptClock } from '../src/attempt-clock.ts';
import type { Performer } from '../src/attempts.ts';
import { createErpPoster } from '../src/post-to-erp.ts';

const POST_TIMEOUT_MS = 30_000; // the demonstration's
const LEASE_MS = 60_000;
const logger = createLogger({ service: 'test', level: 'silent' });

let stack: AsyncDisposableStack;
let perform: Performer;
let postings: () => Promise<number>;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, logger });
  stack.defer(() => simulator.close());
  const url = `http://127.0.0.1:${simulator.port}`;
  const client = createHttpClient({});
  stack.defer(() => client.close());
  const redis = connectRedis(sharedRedisUrl(), 'scripts', logger);
  stack.defer(() => closeRedis(redis));
  const env = { ERP_SIMULATOR_URL: url };
  const targets = createErpTargets(loadConfig(readEnvironment(env), env), client);
  perform = createErpPoster({
    redis,
    keys: createKeyspace('post-to-erp'),
    targets,
    guarded: (_target, _probe, call) => call(),
    signal: new AbortController().signal,
  });
  postings = async () => ((await (await fetch(`${url}/api/stats`)).json()) as { postings: number }).postings;
});
afterEach(() => stack.disposeAsync());

/** One attempt whose clock shows these times, ms since the lease was taken: when the post begins, and at each write. */
const attempt = (begunMs: number, writeMs: number): ReturnType<Performer> => {
  const times = [begunMs];
  const clock: AttemptClock = { elapsedMs: () => times.shift() ?? writeMs };
  const body = { event_id: 'evt-1', type: 'order.paid', order_id: 'o-1', warehouse: 'W1', lines: [] };
  const go = {
    delivery: 'AAAAAAAAAAAAAAAAAAAAAA.erp_receipts',
    alarmId: 'AAAAAAAAAAAAAAAAAAAAAA.erp_receipts-1',
    attempt: 1,
    trigger: 'schedule',
    scheduleMade: 0,
    reference: '',
    doubt: false,
    lookupFor: '',
    leaseMs: LEASE_MS,
    bodyBytes: 0,
    probe: false,
  } as const;
  const event = {
    key: 'AAAAAAAAAAAAAAAAAAAAAA',
    operator: 'default',
    source: 'demo-payments',
    eventId: 'evt-1',
    type: 'order.paid',
    entity: 'o-1',
    contentType: 'application/json',
    receivedAt: Date.now(),
    body: Buffer.from(JSON.stringify(body)),
    plan: [],
  };
  return perform(go, event, clock);
};

test('a post that its lease covers is sent', async () => {
  expect(await attempt(0, 10)).toMatchObject({ kind: 'posted' });
});

test('nothing is written when the ERP’s answer may come after the lease', async () => {
  const late = LEASE_MS - POST_TIMEOUT_MS + 1;
  expect(await attempt(late, late)).toMatchObject({ kind: 'deferred' });
  expect(await postings()).toBe(0);
});

test('a process that was frozen between its look-up and its write sends nothing', async () => {
  expect(await attempt(0, LEASE_MS)).toMatchObject({ kind: 'deferred' });
  // Nor when the lease still holds: the time of the post itself is over.
  expect(await attempt(0, POST_TIMEOUT_MS)).toMatchObject({ kind: 'deferred' });
  expect(await postings()).toBe(0);
});

test('a later write of the same post needs the lease for the rest of its time only', async () => {
  expect(await attempt(25_000, 40_000)).toMatchObject({ kind: 'posted' });
  expect(await postings()).toBe(1);
});
