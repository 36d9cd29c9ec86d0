import { afterEach, expect, test } from '@jest/globals';
import { pause } from '@breakwater/runtime/poll';
import { type OwnRedis, startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { closeRedis, connectRedis } from '../src/connection.ts';
import { watchDurability } from '../src/durability.ts';
import { silent } from './support/store.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function watched(relaxed = false) {
  const server: OwnRedis = await startOwnRedis();
  closers.push(() => server.close());
  const redis = connectRedis(server.url, 'producer', silent);
  closers.push(() => closeRedis(redis));
  const guard = watchDurability(redis, relaxed, silent, 50);
  closers.push(() => guard.close());
  await waitUntil(() => guard.trusted(), { what: 'the settings to be known' });
  return { server, redis, guard };
}

test('a CONFIG SET by hand is noticed while the connection stays, and so is that it was taken back', async () => {
  const { redis, guard } = await watched();
  await redis.config('SET', 'appendfsync', 'everysec');
  await waitUntil(() => !guard.trusted(), { what: 'the change to be noticed' });
  expect(guard.weaknesses()).toEqual(['appendfsync is everysec, must be always']);
  await redis.config('SET', 'appendfsync', 'always');
  await waitUntil(() => guard.trusted(), { what: 'the correction to be noticed' });
});

test('who accepts the risk is trusted all the same, and the weakness stays on record', async () => {
  const { redis, guard } = await watched(true);
  await redis.config('SET', 'appendonly', 'no');
  await waitUntil(() => guard.weaknesses().length > 0, { what: 'the change to be noticed' });
  expect(guard.trusted()).toBe(true);
});

test('a lost connection is not trusted, and has another number when it is back', async () => {
  const { server, guard } = await watched();
  const epoch = guard.epoch();
  await server.kill();
  await waitUntil(() => !guard.trusted(), { what: 'the loss to be noticed' });
  expect(guard.weaknesses()).toEqual(["Redis' settings are not known yet"]);
  await server.restart();
  await waitUntil(() => guard.trusted(), { what: 'the settings to be known again' });
  expect(guard.epoch()).toBeGreaterThan(epoch);
});

test('settings that could not be read while Redis hung are read again as soon as it goes on', async () => {
  const { server, guard } = await watched();
  const epoch = guard.epoch();
  process.kill(server.pid(), 'SIGSTOP');
  await waitUntil(() => guard.weaknesses().join().includes('could not be read'), {
    what: 'the silence to be noticed',
  });
  process.kill(server.pid(), 'SIGCONT');
  await waitUntil(() => guard.trusted(), { what: 'the settings to be known again', timeoutMs: 4_000 });
  expect(guard.epoch()).toBe(epoch);
});

test('waiting for a check ends when its time is over, even if no answer comes', async () => {
  const { server, redis, guard } = await watched();
  process.kill(server.pid(), 'SIGSTOP');
  redis.disconnect(true); // it connects again, and then nobody answers
  await waitUntil(() => redis.status === 'connect', { what: 'the new connection' });
  const first = await Promise.race([
    guard.settled(20).then(() => 'settled'),
    pause(1_000).then(() => 'still waiting'),
  ]);
  process.kill(server.pid(), 'SIGCONT');
  expect(first).toBe('settled');
  expect(guard.trusted()).toBe(false);
  await guard.settled(10_000);
  await waitUntil(() => guard.trusted(), { what: 'the settings to be known again' });
});
