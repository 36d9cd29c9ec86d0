import { newId } from '@breakwater/contracts/ids';
import { createLogger } from '@breakwater/runtime/logger';
import { createIngestMetrics } from '@breakwater/runtime/metrics-ingest';
import { createRegistry } from '@breakwater/runtime/metrics-process';
import { noteAcks } from '@breakwater/store/acks';
import { redisNowMs } from '@breakwater/store/clock';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { afterEach, expect, test } from '@jest/globals';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { ackQuantileMs, createAckReader, readAckTimes } from '../src/ack-times.ts';
import { createSourceRecorder } from '../src/source-recorder.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const stack: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of stack.splice(0).toReversed()) await close();
});

/** Processes of ingest, and the console that reads. */
function begin() {
  const redisUrl = sharedRedisUrl();
  const keyPrefix = `t-${newId()}`;
  const keys = createKeyspace(keyPrefix);
  const redis = connectRedis(redisUrl, 'scripts', logger);
  stack.push(() => closeRedis(redis));
  const open = () => {
    const metrics = createIngestMetrics(createRegistry(), ['shop', 'bank']);
    const fresh = createAckReader(metrics.acknowledgements);
    return {
      metrics,
      acknowledged: (source: string, times: number, seconds: number) => {
        for (let index = 0; index < times; index += 1) metrics.acknowledged(source, seconds);
      },
      tell: async () => noteAcks(redis, keys, await fresh()),
    };
  };
  const read = async (...sources: string[]) =>
    (await readAckTimes(redis, keys))(sources.length > 0 ? sources : undefined);
  return { redisUrl, keyPrefix, redis, keys, open, read };
}

test('acknowledgements of all processes are told together, each once, however often they tell', async () => {
  const { open, read, redis, keys } = begin();
  const [first, second] = [open(), open()];
  first.acknowledged('shop', 60, 0.003);
  second.acknowledged('shop', 30, 0.03);
  second.acknowledged('bank', 10, 0.3);
  for (const process of [first, second, first, second]) await process.tell();
  first.acknowledged('shop', 1, 0.003);
  for (const process of [first, second, first]) await process.tell();
  expect((await read()).count).toBe(101);
  expect((await read('bank')).count).toBe(10);
  const minute = Math.floor((await redisNowMs(redis)) / 60_000);
  const ttls = [await redis.ttl(keys.acks(minute)), await redis.ttl(keys.acks(minute - 1))];
  expect(Math.max(...ttls)).toBeGreaterThan(600);
  expect(Math.max(...ttls)).toBeLessThanOrEqual(900);
});

test('the recorder of ingest tells them in the background', async () => {
  const { open, read, redisUrl, keyPrefix } = begin();
  const { metrics } = open();
  const { acknowledgements } = metrics;
  const options = { redisUrl, keyPrefix, sources: {}, logger, acknowledgements, everyMs: 20 };
  const recorder = createSourceRecorder(options);
  stack.push(() => recorder.close());
  const told = async (): Promise<boolean> => {
    metrics.acknowledged('shop', 0.003); // again and again: what comes before Redis is there is given up
    return (await read()).count > 0;
  };
  await waitUntil(told, { what: 'an acknowledgement to be told', timeoutMs: 25_000 });
});

test("quantiles are those of the metric's own buckets", async () => {
  const { open, read } = begin();
  const ingest = open();
  expect(await read()).toEqual({ overMs: 300_000, count: 0, p50Ms: null, p99Ms: null });
  ingest.acknowledged('shop', 50, 0.003); // 2.5 to 5 ms
  ingest.acknowledged('shop', 50, 0.12); // 100 to 150 ms
  await ingest.tell();
  const { p50Ms, p99Ms } = await read();
  expect(p50Ms).toBeCloseTo(5); // the bound of its bucket is exact
  expect(p99Ms).toBeCloseTo(149); // 49 of 50 into the bucket
});

test('what took longer than the largest bound is never shown as shorter, and an empty bucket moves no quantile', () => {
  const counts = [
    { source: 'shop', le: '+Inf', count: 3 },
    { source: 'shop', le: '0.15', count: 1 },
  ];
  expect(ackQuantileMs(counts, 0.99)).toBe(2_000);
  expect(ackQuantileMs(counts, 0.25)).toBeCloseTo(150);
  expect(ackQuantileMs([{ source: 'shop', le: '0.15', count: 2 }], 0.5)).toBeCloseTo(125);
  // Told by a version with a bound that this one does not have.
  expect(ackQuantileMs([{ source: 'shop', le: '0.2', count: 1 }], 1)).toBeCloseTo(200);
});

test('what could not be told is given up, and not told of a later minute', async () => {
  const metrics = createIngestMetrics(createRegistry(), ['shop']);
  const fresh = createAckReader(metrics.acknowledgements);
  metrics.acknowledged('shop', 0.003);
  expect(await fresh()).toEqual([{ source: 'shop', le: '0.005', count: 1 }]);
  expect(await fresh()).toEqual([]);
  metrics.acknowledged('shop', 9);
  expect(await fresh()).toEqual([{ source: 'shop', le: '+Inf', count: 1 }]);
});
