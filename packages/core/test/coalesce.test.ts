import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import { Source } from '@breakwater/contracts/source-config';
import { startEventWorker } from '@breakwater/queue/workers';
import { locateEvents } from '@breakwater/signatures/locate';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { Acceptor, AcceptResult } from '../src/accept.ts';
import { incomingEvents } from '../src/incoming.ts';
import { afterwards, connect, queued, readyAcceptor, silent } from './support/acceptor.ts';

const source = (dedupe: unknown): Source =>
  Source.parse({ preset: 'mollie-classic', replayKey: 'none', secrets: [{ id: 'a', value: 'x' }], dedupe });

/** What ingest makes of a thin notification that was verified. */
async function notify(
  acceptor: Acceptor,
  body: string,
  rules = source('coalesce'),
  name = 'shop',
): Promise<AcceptResult & { readonly own: string }> {
  const request = { headers: {}, body: Buffer.from(body), nowMs: 1 };
  const located = locateEvents(rules, request);
  if (!located.ok) throw new Error(located.message);
  const [event] = incomingEvents(name, rules, request, located.events);
  if (event === undefined) throw new Error('no event');
  return { ...(await acceptor.accept(event)), own: event.eventId };
}

function work(prefix: string, handle: (job: EventJob) => Promise<void>): void {
  const redis = connectRedis(sharedRedisUrl(), 'worker', silent);
  afterwards(() => closeRedis(redis));
  const worker = startEventWorker(
    { redis, keys: createKeyspace(prefix), concurrency: 4, logger: silent },
    handle,
  );
  afterwards(() => worker.close());
}

test('equal notifications are one event while it waits, and are told which; other bytes, ids and sources are not', async () => {
  const prefix = `t${newId()}`;
  const replicas = await Promise.all([readyAcceptor({ prefix }), readyAcceptor({ prefix })]);
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) => notify(replicas[index % 2]!, 'id=tr_1')),
  );
  const first = results.find(({ kind }) => kind === 'accepted');
  expect(first?.own).toMatch(/^tr_1-[A-Za-z0-9]{22}$/);
  expect(results.filter((result) => result !== first)).toEqual(
    Array.from({ length: 19 }, () => ({
      kind: 'duplicate',
      differs: false,
      eventId: first?.own,
      own: expect.any(String),
    })),
  );
  for (const [body, name] of [
    ['id=tr_2', 'shop'],
    ['id=tr_1&status=paid', 'shop'],
    ['id=tr_1', 'bank'],
  ] as const)
    expect((await notify(replicas[0], body, undefined, name)).kind).toBe('accepted');
  expect(await queued(connect(), prefix)).toHaveLength(4);
});

test('what comes once fan-out has begun is another event, also where that fan-out fails', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  await notify(acceptor, 'id=tr_1');
  const seen: string[] = [];
  let during: AcceptResult | undefined;
  work(prefix, async ({ eventId }) => {
    seen.push(eventId);
    if (during !== undefined) return;
    during = await notify(acceptor, 'id=tr_1');
    throw new Error('Redis was away');
  });
  await waitUntil(() => new Set(seen).size === 2 && seen.length >= 3, {
    what: 'both events, and the failed one again',
  });
  expect(during?.kind).toBe('accepted');
});

test('no change of a resource is lost: whoever reads it after the last event sees its last state', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  const states = new Map<string, number>();
  const read = new Map<string, number>();
  const kinds = new Map<string, number>();
  work(prefix, async ({ eventId }) => {
    const resource = eventId.slice(0, eventId.lastIndexOf('-'));
    const state = states.get(resource) ?? 0; // the read that every delivery of the event comes after
    read.set(resource, Math.max(read.get(resource) ?? 0, state));
    await new Promise((resolve) => setImmediate(resolve));
  });
  const change = async (resource: string): Promise<void> => {
    for (let state = 1; state <= 150; state += 1) {
      states.set(resource, state);
      const result = await notify(acceptor, `id=${resource}`);
      kinds.set(result.kind, (kinds.get(result.kind) ?? 0) + 1);
    }
  };
  await Promise.all(['tr_1', 'tr_2', 'tr_3'].flatMap((resource) => [change(resource), change(resource)]));
  await waitUntil(() => [...states].every(([resource, state]) => read.get(resource) === state), {
    what: 'the last state of each resource to be read',
  });
  expect(kinds.get('duplicate')).toBeGreaterThan(0);
  expect((kinds.get('accepted') ?? 0) + (kinds.get('duplicate') ?? 0)).toBe(900);
});

test('a window holds an event back for more of its kind', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  const rules = source({ policy: 'coalesce', window: '2s' });
  const seen: string[] = [];
  work(prefix, async ({ eventId }) => void seen.push(eventId));
  const startedAt = performance.now();
  const kinds = [(await notify(acceptor, 'id=tr_1', rules)).kind];
  // On a machine so slow that the window may have ended in between nothing could be said.
  while (kinds.length < 5 && performance.now() - startedAt < 1_500)
    kinds.push((await notify(acceptor, 'id=tr_1', rules)).kind);
  expect(new Set(kinds.slice(1))).not.toContain('accepted');
  await waitUntil(() => seen.length > 0, { what: 'the event after its window' });
  expect(performance.now() - startedAt).toBeGreaterThan(1_900);
  expect(seen).toHaveLength(1);
});

test('a source may have its ids remembered for longer than the others', async () => {
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix, ingest: { dedupe: 3_600_000 } });
  const { own, kind } = await notify(acceptor, 'id=tr_1', source({ ttl: '90d' }));
  expect([own, kind]).toEqual(['tr_1', 'accepted']);
  const redis = connect();
  const [key] = await redis.keys(`${createKeyspace(prefix).queues}:events:de:*`);
  expect(await redis.pttl(key ?? '')).toBeGreaterThan(89 * 86_400_000);
});
