import { expect, test } from '@jest/globals';
import { newEndpointId } from '@breakwater/contracts/ids';
import { erpDestination } from '@breakwater/contracts/ids';
import { listDeadLetterGroups } from '../src/dead-letter-groups.ts';
import { openRecords } from './support/records.ts';

test('dead letters are grouped by destination and class, the largest group first, with exact counts', async () => {
  const { redis, keys, record, fail, transitions } = openRecords(['0s']);
  const [a, b] = [newEndpointId(), newEndpointId()];
  const erp = erpDestination('receipts');
  const dead: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const [one = '', other = '', posting = ''] = await record([a, b, erp]);
    await fail(one, 'http_5xx');
    await fail(other, n === 0 ? 'timeout_response' : 'http_4xx');
    if (n === 0) await fail(posting, 'connection_refused');
    dead.push(one);
  }
  const read = async (limit = 50, cursor?: string) =>
    listDeadLetterGroups(
      redis,
      keys,
      { operator: 'default' },
      { limit, ...(cursor !== undefined && { cursor }) },
    );
  const { groups, nextCursor } = await read();
  expect(nextCursor).toBeNull();
  expect(
    groups.map(({ destination, failureClass, count }) => [destination.name, failureClass, count]),
  ).toEqual([
    [a, 'http_5xx', 3],
    [b, 'http_4xx', 2],
    ...[
      [b, 'timeout_response', 1],
      ['receipts', 'connection_refused', 1],
    ].toSorted(([one], [other]) => (String(one) < String(other) ? 1 : -1)),
  ]);
  const statusAt = async (id = ''): Promise<number> =>
    Number(await redis.hget(keys.delivery(id), 'statusAt'));
  expect([groups[0]?.oldestAt, groups[0]?.newestAt]).toEqual([
    await statusAt(dead[0]),
    await statusAt(dead[2]),
  ]);
  expect(groups[0]?.remedy).not.toBe('');
  // Page by page it is the same list.
  const paged = [];
  let cursor: string | undefined;
  do {
    const page = await read(1, cursor);
    paged.push(...page.groups);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(paged).toEqual(groups);
  // A group that empties is gone, and another operator sees none.
  for (const id of dead) await transitions.resolve(id, 'default', 'why', 'me');
  expect((await read()).groups.map(({ destination }) => destination.id)).not.toContain(a);
  expect((await listDeadLetterGroups(redis, keys, { operator: 'acme' }, { limit: 50 })).groups).toEqual([]);
});

test('of one destination its own groups are listed, page by page, and nothing of one whose name begins alike', async () => {
  const { redis, keys, record, fail } = openRecords(['0s']);
  const [erp, alike] = [erpDestination('receipts'), erpDestination('receipts-2')];
  for (const failureClass of ['http_5xx', 'http_5xx', 'http_4xx']) {
    const [one = '', other = ''] = await record([erp, alike]);
    await fail(one, failureClass);
    await fail(other, 'timeout_response');
  }
  const paged = [];
  let cursor: string | undefined;
  do {
    const page = await listDeadLetterGroups(
      redis,
      keys,
      { operator: 'default', destination: erp },
      { limit: 1, ...(cursor !== undefined && { cursor }) },
    );
    paged.push(...page.groups);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(paged.map(({ destination, failureClass, count }) => [destination.id, failureClass, count])).toEqual([
    [erp, 'http_5xx', 2],
    [erp, 'http_4xx', 1],
  ]);
});
