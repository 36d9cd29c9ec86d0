import { afterEach, expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { Source } from '@breakwater/contracts/source-config';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { HOUR_MS, HOURS_KEPT, readSourceUse } from '@breakwater/store/source-use';
import { sharedRedisUrl, startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { createSourceRecorder } from '../src/source-recorder.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const stack: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of stack.splice(0).toReversed()) await close();
});

const [current, old] = [
  { id: 'current', value: 'one' },
  { id: 'old', value: 'two' },
];
const sources = {
  shop: Source.parse({
    secrets: [current, old],
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: { header: 'x-signature', encoding: 'hex' },
    },
    eventId: { pointer: '/id' },
  }),
};

function begin(redisUrl: string, everyMs: number) {
  const keyPrefix = `t-${newId()}`;
  const keys = createKeyspace(keyPrefix);
  const recorder = createSourceRecorder({ redisUrl, keyPrefix, sources, logger, everyMs });
  const redis = connectRedis(redisUrl, 'scripts', logger);
  stack.push(() => closeRedis(redis));
  return { recorder, redis, keys, read: () => readSourceUse(redis, keys, 'shop') };
}
const seen = (at: number, secrets: string[], accepted = true) => ({ source: 'shop', secrets, accepted, at });

test('requests are told in the background, a burst of them in one go', async () => {
  const { recorder, redis, keys, read } = begin(sharedRedisUrl(), 50);
  stack.push(() => recorder.close());
  await waitUntil(async () => (await read()).observedSince, { what: 'the first telling' });
  for (let index = 0; index < 1_000; index += 1) recorder.saw(seen(5 * HOUR_MS + index, ['current']));
  recorder.saw(seen(6 * HOUR_MS, ['old'], false));
  expect(await redis.hget(keys.sourceUse('shop'), 'lastSeenAt')).toBeNull(); // not one command of its own
  const use = await waitUntil(async () => ((await read()).lastSeenAt ? read() : undefined), {
    what: 'the notes',
  });
  expect([use.lastSeenAt, use.lastAcceptedAt]).toEqual([6 * HOUR_MS, 5 * HOUR_MS + 999]);
  expect([...use.hours]).toEqual([
    [5, 1_000],
    [6, 1],
  ]);
  expect([use.ofSecret(current).lastUsedAt, use.ofSecret(old).lastUsedAt]).toEqual([
    5 * HOUR_MS + 999,
    6 * HOUR_MS,
  ]);
});

test('a source that never pauses is told once in a turn all the same', async () => {
  const { recorder, read } = begin(sharedRedisUrl(), 3_600_000);
  stack.push(() => recorder.close());
  const told = async () => (await read()).hours.get(1);
  const keepSending = async (): Promise<void> => {
    recorder.saw(seen(HOUR_MS, ['current']));
    await new Promise((resolve) => setImmediate(resolve));
  };
  const first = await waitUntil(
    async () => {
      await keepSending();
      return told();
    },
    { what: 'the first telling', intervalMs: 0 },
  );
  for (let more = 0; more < 50; more += 1) await keepSending();
  expect(await told()).toBe(first);
});

test('what is untold at the end is told before it closes', async () => {
  const { recorder, read } = begin(sharedRedisUrl(), 3_600_000);
  await waitUntil(async () => (await read()).observedSince, { what: 'the first telling' });
  recorder.saw(seen(HOUR_MS, ['current']));
  await recorder.close();
  expect((await read()).ofSecret(current).lastUsedAt).toBe(HOUR_MS);
});

test('what is seen while Redis is away is told when it is back', async () => {
  const own = await startOwnRedis();
  stack.push(() => own.close());
  const { recorder, read } = begin(own.url, 20);
  stack.push(() => recorder.close());
  await waitUntil(async () => (await read()).observedSince, { what: 'the first telling' });
  await own.stop();
  recorder.saw(seen(HOUR_MS, ['old']));
  await new Promise((resolve) => setTimeout(resolve, 100)); // several turns that find no Redis
  await own.restart();
  await waitUntil(async () => (await read()).ofSecret(old).lastUsedAt === HOUR_MS, {
    what: 'the note',
    timeoutMs: 15_000,
  });
  expect([...(await read()).hours]).toEqual([[1, 1]]);
}, 30_000);

test('what could not be told stays untold, and an outage of any length keeps the latest two weeks of it', async () => {
  const own = await startOwnRedis();
  stack.push(() => own.close());
  const { recorder, redis, keys, read } = begin(own.url, 20);
  stack.push(() => recorder.close());
  await waitUntil(async () => (await read()).observedSince, { what: 'the first telling' });
  const key = keys.sourceUse('shop');
  await redis.rename(key, 'aside');
  await redis.set(key, 'of a type that refuses every telling');
  const last = 1_000 + HOURS_KEPT;
  for (let hour = 1; hour <= last; hour += 1) recorder.saw(seen(hour * HOUR_MS, ['current']));
  await new Promise((resolve) => setTimeout(resolve, 200)); // several turns that are refused
  await redis.rename('aside', key);
  const { hours } = await waitUntil(async () => (await read()).lastSeenAt === last * HOUR_MS && read(), {
    what: 'what was refused to be told',
  });
  expect([Math.min(...hours.keys()), hours.size]).toEqual([1_001, HOURS_KEPT]);
}, 30_000);

test('without Redis it neither throws nor keeps a process from ending', async () => {
  const own = await startOwnRedis();
  await own.close();
  const recorder = createSourceRecorder({ redisUrl: own.url, keyPrefix: 't', sources, logger, everyMs: 10 });
  recorder.saw(seen(HOUR_MS, ['current']));
  await new Promise((resolve) => setTimeout(resolve, 50));
  await recorder.close();
}, 20_000);
