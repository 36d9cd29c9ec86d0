import { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, eventKey, newEndpointId, newId } from '@breakwater/contracts/ids';
import { listAudit } from '@breakwater/core/audit-log';
import { listDeadLetterGroups } from '@breakwater/core/dead-letter-groups';
import type { DeliveryQuery } from '@breakwater/core/delivery-walk';
import { listDeliveries } from '@breakwater/core/list-deliveries';
import { createLogger } from '@breakwater/runtime/logger';
import { writeAudit } from '@breakwater/store/audit';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { backfillIndexes } from '@breakwater/store/index-backfill';
import { createKeyspace } from '@breakwater/store/keys';
import { readMemory } from '@breakwater/store/memory';
import { policyOf } from '@breakwater/store/policy';
import { Transitions } from '@breakwater/store/transitions';
import { startOwnRedis } from '../test/support/redis.ts';
import { quantile } from './fleet.ts';

// A page of each kind of list over very many deliveries, made by the scripts that make them in earnest: its time, and how many commands
// Redis ran for it. Neither grows with what is stored.
const DELIVERIES = Number(process.env['DELIVERIES'] ?? 1_000_000);
const ENDPOINTS = 1_000;
const TRIED = Math.min(DELIVERIES, 50_000);
const AUDITED = 100_000;
const ROUNDS = 20;
const AT_ONCE = 200;

const server = await startOwnRedis({ overrides: { appendonly: 'no', maxmemory: '8gb' } });
const logger = createLogger({ service: 'bench', level: 'silent' });
const redis = connectRedis(server.url, 'scripts', logger);
const keys = createKeyspace('bench');
const policy = policyOf(BreakwaterConfig.parse({ deliveries: { retrySchedule: ['0s'] } }));
const transitions = new Transitions(redis, keys, policy);
const endpoints = Array.from({ length: ENDPOINTS }, newEndpointId);
const SOURCES = ['shop', 'bank'];

async function inBatches(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - from) }, async (_, index) => work(from + index)),
    );
}

/** An event to a hundred endpoints. Resolves to its deliveries. */
async function record(index: number): Promise<string[]> {
  const [source = '', eventId] = [SOURCES[index % SOURCES.length], `e${index}`];
  const key = eventKey('default', source, eventId);
  const from = (index * 100) % ENDPOINTS;
  const plan = endpoints.slice(from, from + 100).map((d) => ({ d }));
  const fields = { eventId, type: 'order.paid', receivedAt: Date.now(), encoding: 'utf8', body: '{"id":1}' };
  const rest = { from: 0, count: 100, replan: false };
  await transitions.recordEvent({ eventKey: key, source, operator: 'default', plan, fields, ...rest });
  return plan.map(({ d }) => deliveryId(key, d));
}

/** One attempt; with a schedule of one it makes a dead letter of nine in ten. */
async function attempt(delivery: string, index: number): Promise<void> {
  const alarmId = `${delivery}-1`;
  const begun = await transitions.beginAttempt(delivery, alarmId, newId());
  if (begun.kind !== 'go') return;
  const good = index % 10 === 0;
  const failure = ['http_5xx', 'timeout_response', 'http_4xx'][index % 3] ?? '';
  const result = good
    ? { outcome: 'sent' as const, class: 'sent', code: '200' }
    : { outcome: 'failed' as const, class: failure, code: '' };
  const { attempt: number } = begun.go;
  await transitions.endAttempt({ delivery, alarmId, attempt: number, ...result, handOffToken: '' });
}

const commands = async (): Promise<number> =>
  [...(await redis.info('commandstats')).matchAll(/^cmdstat_(?!info)[^:]+:calls=(\d+)/gm)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );

async function measure(name: string, page: () => Promise<number>): Promise<void> {
  const before = await commands();
  const times: number[] = [];
  let looked = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    looked = await page();
    times.push(performance.now() - began);
  }
  const spent = Math.round((await commands()) - before) / ROUNDS;
  const [p50, worst] = [quantile(times, 0.5), Math.max(...times)].map((ms) => ms.toFixed(1));
  console.log(
    `${name.padEnd(44)} p50 ${p50} ms, worst ${worst} ms, ${spent.toFixed(0)} commands, ${looked} looked at`,
  );
}

try {
  const empty = (await readMemory(redis)).used;
  let began = performance.now();
  const tried: string[] = [];
  await inBatches(DELIVERIES / 100, async (index) => {
    const ids = await record(index);
    if (tried.length < TRIED) tried.push(...ids);
  });
  const took = ((performance.now() - began) / 1_000).toFixed(0);
  const each = ((await readMemory(redis)).used - empty) / DELIVERIES;
  console.log(`${DELIVERIES} deliveries recorded in ${took} s, ${each.toFixed(0)} bytes each`);
  await inBatches(tried.length, async (index) => attempt(tried[index] ?? '', index));
  console.log(`${tried.length} of them tried, nine in ten a dead letter\n`);

  const deliveries = (query: Partial<DeliveryQuery>) => async (): Promise<number> =>
    (await listDeliveries(redis, keys, { operator: 'default', ...query }, SOURCES, { limit: 50 })).scanned;
  const [destination = ''] = endpoints;
  await measure('all', deliveries({}));
  await measure('a status', deliveries({ status: 'dead_letter' }));
  await measure('two statuses', deliveries({ status: ['dead_letter', 'sent'] }));
  await measure('an endpoint', deliveries({ destination }));
  await measure('a source', deliveries({ source: 'bank' }));
  await measure('a class', deliveries({ failureClass: 'http_4xx' }));
  await measure('an event id', deliveries({ eventId: 'e7' }));
  await measure(
    'dead letters, endpoint, class',
    deliveries({ status: 'dead_letter', destination, failureClass: 'http_5xx' }),
  );
  await measure('an endpoint and a source', deliveries({ destination, source: 'bank' }));
  await measure('a type that nothing has', deliveries({ type: 'nobody.*' }));
  await measure(
    'three statuses and a type that nothing has',
    deliveries({ status: ['pending', 'sent', 'dead_letter'], type: 'nobody.*' }),
  );
  await measure(
    'groups of dead letters',
    async () =>
      (await listDeadLetterGroups(redis, keys, { operator: 'default' }, { limit: 50 })).groups.length,
  );
  await inBatches(AUDITED, () =>
    writeAudit(redis, keys, { action: 'delivery.replay', operator: 'default', actor: 'bench', reason: 'x' }),
  );
  await measure(
    `audit log of ${AUDITED}, a page`,
    async () => (await listAudit(redis, keys, { operator: 'default' }, { limit: 50 })).entries.length,
  );
  await measure(
    `audit log of ${AUDITED}, nothing fits`,
    async () => (await listAudit(redis, keys, { operator: 'acme' }, { limit: 50 })).entries.length,
  );

  began = performance.now();
  const { events } = await backfillIndexes(redis, keys, 'bench', Number.POSITIVE_INFINITY);
  const seconds = (performance.now() - began) / 1_000;
  console.log(`\nindexes gone through for ${events} events in ${seconds.toFixed(0)} s`);
} finally {
  await closeRedis(redis);
  await server.close();
}
