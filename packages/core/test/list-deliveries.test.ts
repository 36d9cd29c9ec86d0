import { expect, test } from '@jest/globals';
import { newEndpointId } from '@breakwater/contracts/ids';
import type { Redis } from '@breakwater/store/connection';
import { startOwnRedis } from '../../../test/support/redis.ts';
import type { DeliveryQuery } from '../src/delivery-walk.ts';
import { listDeliveries, SCAN_MAX } from '../src/list-deliveries.ts';
import { afterwards, connect } from './support/acceptor.ts';
import { openRecords } from './support/records.ts';

const SOURCES = ['shop', 'bank'];

/** Deliveries of several operators, and ways to list them. */
function openList(redis?: Redis) {
  const records = openRecords(['0s', '1h'], redis);
  const { keys } = records;
  const page = (query: Partial<DeliveryQuery>, limit = 50, cursor?: string) =>
    listDeliveries(records.redis, keys, { operator: 'default', ...query }, SOURCES, {
      limit,
      ...(cursor !== undefined && { cursor }),
    });
  /** Every page to the end; `between` runs after each. */
  const all = async (query: Partial<DeliveryQuery>, limit = 50, between = async () => {}) => {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const { deliveries, nextCursor } = await page(query, limit, cursor);
      ids.push(...deliveries.map(({ id }) => id));
      cursor = nextCursor ?? undefined;
      await between();
    } while (cursor !== undefined);
    return ids;
  };
  return { ...records, page, all };
}

const many = (count: number): string[] => Array.from({ length: count }, newEndpointId);

test('every filter, alone or with others, finds what a look at every record finds', async () => {
  const { record, fail, all } = openList();
  const [a = '', b = ''] = many(2);
  const facts: {
    id: string;
    to: string;
    source: string;
    type: string;
    event: string;
    status: string;
    why: string;
  }[] = [];
  for (let n = 0; n < 24; n += 1) {
    const source = n % 3 === 0 ? 'bank' : 'shop';
    const type = n % 2 === 0 ? 'order.paid' : 'refund.made';
    const event = `e${n % 12}`; // the same id from two sources is two events
    for (const [index, id] of (
      await record([a, b], { source, type, eventId: `${event}${n < 12 ? '' : 'x'}` })
    ).entries()) {
      const why = ['', 'http_5xx', 'timeout_response', 'sent'][(n + index) % 4] ?? '';
      if (why !== '') await fail(id, why);
      const status = why === '' ? 'pending' : why === 'sent' ? 'sent' : 'failed';
      facts.push({
        id,
        to: index === 0 ? a : b,
        source,
        type,
        event: `${event}${n < 12 ? '' : 'x'}`,
        status,
        why: why === 'sent' ? '' : why,
      });
    }
  }
  const choices: Record<string, readonly (string | undefined)[]> = {
    status: [undefined, 'pending', 'failed', 'sent'],
    destination: [undefined, a],
    source: [undefined, 'bank'],
    type: [undefined, 'order.*'],
    eventId: [undefined, 'e3'],
    failureClass: [undefined, 'http_5xx'],
  };
  let combinations: Partial<DeliveryQuery>[] = [{}];
  for (const [name, values] of Object.entries(choices))
    combinations = combinations.flatMap((each) =>
      values.map((value) => (value === undefined ? each : { ...each, [name]: value })),
    );
  expect(combinations).toHaveLength(128);
  for (const query of combinations) {
    const wanted = facts.filter(
      (fact) =>
        (query.status === undefined || fact.status === query.status) &&
        (query.destination === undefined || fact.to === query.destination) &&
        (query.source === undefined || fact.source === query.source) &&
        (query.type === undefined || fact.type.startsWith('order.')) &&
        (query.eventId === undefined || fact.event === query.eventId) &&
        (query.failureClass === undefined || fact.why === query.failureClass),
    );
    expect([query, (await all(query, 7)).toSorted()]).toEqual([query, wanted.map(({ id }) => id).toSorted()]);
  }
});

test('what fits all the time is listed once, whatever comes, changes and goes between two pages', async () => {
  const { record, fail, all } = openList();
  const ids = await record(many(40)); // created in one millisecond: only their names order them
  const changing = ids.filter((_, index) => index % 2 === 0);
  const more: string[] = [];
  const listed = await all({}, 7, async () => {
    const next = changing.pop();
    if (next !== undefined) await fail(next, 'http_5xx');
    more.push(...(await record(many(1))));
  });
  expect(listed.toSorted()).toEqual(ids.toSorted());
  expect(more.length).toBeGreaterThan(5);
});

test('a list of one status loses nobody who stays in it, though the entry that its cursor names has left', async () => {
  const { record, fail, page } = openList();
  const ids = await record(many(30));
  const first = await page({ status: 'pending' }, 10);
  for (const { id } of first.deliveries) await fail(id, 'http_5xx');
  const second = await page({ status: 'pending' }, 100, first.nextCursor ?? '');
  const seen = [...first.deliveries, ...second.deliveries].map(({ id }) => id);
  expect(seen.toSorted()).toEqual(ids.toSorted());
});

test('a delivery is found under the class of its latest attempt alone, and under none once it is sent', async () => {
  const { redis, keys, record, fail, all } = openList();
  const [id = ''] = await record(many(1));
  await fail(id, 'http_5xx');
  expect(await all({ failureClass: 'http_5xx' })).toEqual([id]);
  await redis.hset(keys.delivery(id), 'nextAttemptAt', 1);
  await fail(id, 'timeout_response');
  expect(await all({ failureClass: 'http_5xx' })).toEqual([]);
  expect(await all({ failureClass: 'timeout_response' })).toEqual([id]);
  expect(await redis.zcard(keys.byClass('default', 'http_5xx'))).toBe(0);
});

test('times are those of creation, and with a status those of its last change', async () => {
  const { redis, keys, record, fail, all } = openList();
  const [id = ''] = await record(many(1));
  const age = async (key: string, at: number) => redis.zadd(key, at, id);
  await redis.hset(keys.delivery(id), 'createdAt', 1_000);
  await age(keys.byOperator('default'), 1_000);
  await fail(id, 'http_5xx');
  expect(await all({ since: 1_000, until: 1_000 })).toEqual([id]);
  expect(await all({ since: 1_001 })).toEqual([]);
  expect(await all({ status: 'failed', since: 1_001 })).toEqual([id]);
  expect(await all({ status: 'failed', until: 1_001 })).toEqual([]);
});

test('a list and its cursors are of one operator', async () => {
  const { record, page } = openList();
  const theirs = await record(many(3), { operator: 'acme', eventId: 'e1' });
  await record(many(3), { eventId: 'e1' });
  const first = await page({ operator: 'acme' }, 1);
  expect(theirs).toContain(first.deliveries[0]?.id);
  await expect(page({}, 1, first.nextCursor ?? '')).rejects.toMatchObject({ code: 'request_invalid' });
  await expect(page({}, 1, 'nonsense')).rejects.toMatchObject({ code: 'request_invalid' });
  for (const query of [{}, { eventId: 'e1' }, { status: 'pending' as const }, { source: 'shop' }])
    for (const { id } of (await page(query)).deliveries) expect(theirs).not.toContain(id);
});

test('no combination of filters costs more commands with 100,000 deliveries than the bound of one page, and none hides anything', async () => {
  const own = await startOwnRedis({ overrides: { appendonly: 'no' } });
  afterwards(() => own.close());
  const redis = connect(own.url);
  const { record, fail, page, all } = openList(redis);
  const destinations = many(1_000);
  await record(many(1), { source: 'bank' });
  const oldest = await record(destinations, { eventId: 'e0', type: 'rare.thing' });
  const made = await Promise.all(
    Array.from({ length: 99 }, async (_, n) => record(destinations, { eventId: `e${n + 1}` })),
  );
  const failed = [oldest, ...made].flatMap((ids) => ids.slice(0, 20));
  await Promise.all(failed.map(async (id, n) => fail(id, n % 10 === 0 ? 'timeout_response' : 'http_5xx')));
  const commands = async (): Promise<number> =>
    [...(await redis.info('commandstats')).matchAll(/^cmdstat_(?!info)[^:]+:calls=(\d+)/gm)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    );
  const choices: Record<string, readonly unknown[]> = {
    status: [undefined, 'pending', ['failed', 'held']],
    type: ['nobody.*'], // fits nothing: the most that a page has to look at
    failureClass: [undefined, 'http_5xx'],
    destination: [undefined, destinations[7]],
    source: [undefined, 'shop'],
  };
  let queries: Partial<DeliveryQuery>[] = [{}];
  for (const [name, values] of Object.entries(choices))
    queries = queries.flatMap((each) =>
      values.map((value) => (value === undefined ? each : { ...each, [name]: value })),
    );
  queries.push({ eventId: 'e2' }, { eventId: 'e2', status: 'sent', type: 'nobody.*' });
  expect(queries).toHaveLength(26);
  for (const query of queries) {
    const before = await commands();
    const { scanned } = await page(query);
    const spent = (await commands()) - before;
    expect(scanned).toBeLessThanOrEqual(SCAN_MAX);
    // Two reads for each entry; a page of each of two indexes is a script of at most 36 reads for each hundred of them.
    expect([query, spent <= 2 * SCAN_MAX + 2 * 36 * 10 + 50 ? 'bounded' : spent]).toEqual([query, 'bounded']);
  }
  // Short pages are no end: what fits is found, however many entries in front of it do not fit.
  const query = { type: 'rare.*', failureClass: 'http_5xx' };
  expect((await page(query)).deliveries).toEqual([]);
  expect((await all(query)).toSorted()).toEqual(
    oldest
      .slice(0, 20)
      .filter((_, n) => n % 10 !== 0)
      .toSorted(),
  );
  const timeouts = failed.filter((_, n) => n % 10 === 0);
  const found = await all({ status: ['failed', 'pending'], failureClass: 'timeout_response' });
  expect(found.toSorted()).toEqual(timeouts.toSorted());
}, 180_000);
