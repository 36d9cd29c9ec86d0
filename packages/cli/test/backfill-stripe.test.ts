import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { CONFIG, createRig, type CliRun, type Rig } from './support.ts';

const STRIPE = CONFIG.replace(
  'erpTargets:',
  '  stripe: { preset: stripe, secrets: [{ id: a, value: whsec_x }] }\nerpTargets:',
);
const KEY = 'rk_test_secret';

/** Stripe's list of events as documented: newest first, both cursors, bounds of `created`, at most a hundred. */
async function startStripe(count: number, trouble: { failures?: number; pad?: number } = {}) {
  const ids = Array.from({ length: count }, (_, nth) => `evt_${String(nth).padStart(4, '0')}`).toReversed();
  const asked: URLSearchParams[] = [];
  let failures = trouble.failures ?? 0;
  const eventOf = (id: string): string =>
    `{\n  "id": "${id}",\n  "object": "event",\n  "type": "invoice.paid", "created": ${createdOf(id)},\n  "data": {"object": {"id": "in_${id}", "total": 1.10, "pad": "${'x'.repeat(trouble.pad ?? 0)}"}}\n}`;
  const createdOf = (id: string): number => 1_700_000_000 + Number(id.slice(4));
  const server = createServer((request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://stripe.test');
    asked.push(query);
    const answer = (status: number, body: string): unknown => response.writeHead(status).end(body);
    if (request.headers.authorization !== `Bearer ${KEY}`) return answer(401, '{"error":{}}');
    if (pathname !== '/v1/events') return answer(404, '{}');
    if (failures > 0) {
      failures -= 1;
      return answer(failures % 2 === 0 ? 429 : 503, '{}');
    }
    const [since, until] = [Number(query.get('created[gte]')), Number(query.get('created[lte]'))];
    const all = ids.filter((id) => createdOf(id) >= since && createdOf(id) <= until);
    const limit = Number(query.get('limit') ?? 10);
    const [after, before] = [query.get('starting_after'), query.get('ending_before')];
    const from =
      before === null
        ? after === null
          ? 0
          : all.indexOf(after) + 1
        : Math.max(0, all.indexOf(before) - limit);
    const to = before === null ? from + limit : all.indexOf(before);
    const more = before === null ? to < all.length : from > 0;
    return answer(
      200,
      `{"object":"list","url":"/v1/events","has_more":${more},"data":[${all.slice(from, to).map(eventOf).join(',')}]}`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    eventOf,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

const fill = (rig: Rig, url: string, ...more: string[]): Promise<CliRun> =>
  rig.cli(
    [
      'backfill',
      '--source',
      'stripe',
      '--from',
      'stripe',
      '--api-url',
      url,
      '--since',
      '2023-11-14T00:00Z',
      '--json',
      ...more,
    ],
    { env: { STRIPE_API_KEY: KEY } },
  );

async function queued({ redis, keys }: Rig): Promise<Record<string, string>[]> {
  const ids = (await redis.lrange(keys.waitingEvents, 0, -1)).toReversed();
  const jobs = await Promise.all(ids.map((id) => redis.hget(`${keys.queues}:events:${id}`, 'data')));
  return jobs.map((data) => JSON.parse(data ?? '{}') as Record<string, string>);
}

test("events of Stripe's list are taken page by page, oldest first, byte for byte, and only once", async () => {
  await using rig = await createRig(STRIPE);
  await using stripe = await startStripe(230, { failures: 2 });
  const first = await fill(rig, stripe.url);
  expect(first.code).toBe(0);
  expect(first.json()).toMatchObject({ entries: 230, accepted: 230, deduped: 0, failed: 0 });
  const events = await queued(rig);
  expect(events.map(({ eventId }) => eventId)).toEqual(
    Array.from({ length: 230 }, (_, nth) => `evt_${String(nth).padStart(4, '0')}`),
  );
  expect(events[7]).toMatchObject({
    type: 'invoice.paid',
    entity: 'in_evt_0007',
    body: stripe.eventOf('evt_0007'),
  });
  expect(stripe.asked.every((query) => query.get('limit') === '100')).toBe(true);
  const again = await fill(rig, stripe.url);
  expect(again.json()).toMatchObject({ accepted: 0, deduped: 230, differs: 0 });
}, 60_000);

test('pages that are too large to be read whole are asked for in parts', async () => {
  await using rig = await createRig(STRIPE);
  await using stripe = await startStripe(100, { pad: 100_000 });
  const { json } = await fill(rig, stripe.url, '--dry-run');
  expect(json()).toMatchObject({ entries: 100, accepted: 100 });
  expect(stripe.asked.map((query) => query.get('limit'))).toContain('25');
}, 60_000);

test('the bounds and the filter are passed on', async () => {
  await using rig = await createRig(STRIPE);
  await using stripe = await startStripe(10);
  const { json } = await fill(rig, stripe.url, '--until', '2023-11-14T22:13:24Z', '--undelivered');
  expect(json()).toMatchObject({ entries: 5, accepted: 5 });
  expect(stripe.asked[0]?.get('delivery_success')).toBe('false');
  expect((await fill(rig, stripe.url, '--type', 'charge.*')).json()).toMatchObject({
    accepted: 0,
    skipped: 10,
  });
});

test('a key that Stripe refuses, a server that is not Stripe: exit codes and words, and never the key', async () => {
  await using rig = await createRig(STRIPE);
  await using stripe = await startStripe(1);
  const args = ['backfill', '--source', 'stripe', '--from', 'stripe', '--since', '1h', '--api-url'];
  const refused = await rig.cli([...args, stripe.url], { env: { STRIPE_API_KEY: 'sk_wrong' } });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('401');
  expect(refused.stderr).not.toContain('sk_wrong');
  const elsewhere = await rig.cli([...args, 'http://127.0.0.1:1'], { env: { STRIPE_API_KEY: KEY } });
  expect(elsewhere.code).toBe(1);
  expect(elsewhere.stderr).toContain('safe');
  expect(elsewhere.stderr).not.toContain(KEY);
}, 60_000);
