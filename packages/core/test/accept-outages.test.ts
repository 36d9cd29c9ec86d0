import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { pause } from '@breakwater/runtime/poll';
import { freePort } from '../../../test/support/free-port.ts';
import { type OwnRedis, startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { Acceptor } from '../src/accept.ts';
import {
  afterwards,
  connect,
  event,
  openAcceptor,
  queued,
  readyAcceptor,
  untilReady,
} from './support/acceptor.ts';

async function ownRedis(): Promise<OwnRedis> {
  const redis = await startOwnRedis();
  afterwards(() => redis.close());
  return redis;
}

/** A sender is answered within 2 s; the rest is for a busy machine. */
const LIMIT_MS = 2_500;

async function timed(acceptor: Acceptor, id: string): Promise<{ kind: string; ms: number }> {
  const started = performance.now();
  const { kind } = await acceptor.accept(event(id));
  return { kind, ms: performance.now() - started };
}

test('without a Redis at the start events are refused at once', async () => {
  const acceptor = openAcceptor({ url: `redis://127.0.0.1:${await freePort()}` });
  expect(acceptor.notReady()).toEqual(['Redis is not reachable']);
  expect((await acceptor.accept(event('e1'))).kind).toBe('unavailable');
});

test('a Redis that was down at the start is used as soon as it is up', async () => {
  const redis = await ownRedis();
  await redis.stop();
  const acceptor = openAcceptor({ url: redis.url });
  expect((await acceptor.accept(event('e1'))).kind).toBe('unavailable');
  await redis.restart();
  await untilReady(acceptor);
  expect((await acceptor.accept(event('e1'))).kind).toBe('accepted');
});

test('a Redis that hangs is a 503 in time, from the first event on, and forgiven when it goes on', async () => {
  const redis = await ownRedis();
  const acceptor = await readyAcceptor({ url: redis.url });
  process.kill(redis.pid(), 'SIGSTOP');
  const answers = await Promise.all([timed(acceptor, 'e1'), timed(acceptor, 'e2')]);
  process.kill(redis.pid(), 'SIGCONT');
  for (const { kind, ms } of answers) {
    expect(kind).toBe('unavailable');
    expect(ms).toBeLessThan(LIMIT_MS);
  }
  await waitUntil(async () => (await acceptor.accept(event('e3'))).kind === 'accepted', {
    what: 'events to be accepted again',
  });
  // What was refused may have been stored all the same: the sender asks again and gets a 2xx either way.
  expect((await acceptor.accept(event('e1'))).kind).toMatch(/^(accepted|duplicate)$/);
});

test('a Redis that hangs and then dies is no dead end', async () => {
  const redis = await ownRedis();
  const acceptor = await readyAcceptor({ url: redis.url });
  process.kill(redis.pid(), 'SIGSTOP');
  expect((await timed(acceptor, 'e1')).kind).toBe('unavailable');
  await redis.kill();
  const down = await timed(acceptor, 'e2');
  expect(down.kind).toBe('unavailable');
  expect(down.ms).toBeLessThan(LIMIT_MS);
  await redis.restart();
  await waitUntil(async () => (await acceptor.accept(event('e3'))).kind === 'accepted', {
    what: 'events to be accepted again',
  });
});

test('remembered ids are forgotten with the connection: another Redis may never have heard of them', async () => {
  const redis = await ownRedis();
  const acceptor = await readyAcceptor({ url: redis.url });
  expect((await acceptor.accept(event('e1'))).kind).toBe('accepted');
  expect((await acceptor.accept(event('e1'))).kind).toBe('duplicate');
  await redis.kill();
  for (const name of readdirSync(redis.dir)) rmSync(join(redis.dir, name), { recursive: true });
  await redis.restart();
  await untilReady(acceptor);
  expect((await acceptor.accept(event('e1'))).kind).toBe('accepted');
});

test('a remembered duplicate is answered while Redis hangs; what is not remembered is refused', async () => {
  const redis = await ownRedis();
  const acceptor = await readyAcceptor({ url: redis.url });
  await acceptor.accept(event('e1'));
  process.kill(redis.pid(), 'SIGSTOP');
  expect(await acceptor.accept(event('e1'))).toEqual({ kind: 'duplicate', differs: false });
  expect((await acceptor.accept(event('e2'))).kind).toBe('unavailable');
  process.kill(redis.pid(), 'SIGCONT');
});

test('nothing that was acknowledged is lost or doubled when Redis is killed under load, again and again', async () => {
  const redis = await ownRedis();
  const prefix = `t${newId()}`;
  const replicas = await Promise.all([
    readyAcceptor({ url: redis.url, prefix }),
    readyAcceptor({ url: redis.url, prefix }),
  ]);
  const acknowledged = new Set<string>();
  const accepted = new Map<string, number>();
  const stopping = new AbortController();
  let next = 0;
  // Each sender repeats its event until it is acknowledged, at whichever replica answers.
  const sender = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const id = `e${(next += 1)}`;
      for (;;) {
        const result = await replicas[Math.floor(Math.random() * 2)]!.accept(event(id));
        if (result.kind === 'accepted') accepted.set(id, (accepted.get(id) ?? 0) + 1);
        if (result.kind !== 'unavailable') {
          acknowledged.add(id);
          break;
        }
        if (stopping.signal.aborted) return;
        await pause(20);
      }
    }
  };
  const senders = Array.from({ length: 30 }, sender);
  for (let round = 1; round <= 3; round += 1) {
    const before = acknowledged.size;
    await waitUntil(() => acknowledged.size > before + 100, { what: 'events to be acknowledged' });
    await redis.kill();
    await redis.restart();
  }
  const before = acknowledged.size;
  await waitUntil(() => acknowledged.size > before + 100, {
    what: 'events to be acknowledged after the last restart',
  });
  stopping.abort();
  await Promise.all(senders);

  const ids = (await queued(connect(redis.url), prefix)).map((job) => job.eventId);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...acknowledged].filter((id) => !ids.includes(id))).toEqual([]);
  expect([...accepted].filter(([, times]) => times > 1)).toEqual([]);
}, 60_000);
