import { expect, test } from '@jest/globals';
import { newEndpointId } from '@breakwater/contracts/ids';
import { markRemoved, readEndpoint, scanEndpoints, writeEndpoint } from '../src/endpoints.ts';
import { Store } from './support/store.ts';

const record = (id: string, more: { operator?: string; version?: number; description?: string } = {}) => ({
  id,
  operator: 'default',
  version: 1,
  url: 'https://example.com/',
  types: ['*'],
  sources: [],
  description: '',
  body: 'raw' as const,
  timeoutMs: 5_000,
  maxInFlight: 3,
  scheduleMs: null,
  reference: 'event' as const,
  secrets: [{ sealed: 'v2.k.x', createdAt: 1, expiresAt: null }],
  createdAt: 1,
  ...more,
});
const AUDIT = { action: 'test', actor: 'tester' };
const write = (store: Store, input: ReturnType<typeof record>, readVersion: number) =>
  writeEndpoint(store.redis, store.keys, input, {}, AUDIT, readVersion);

test('a command that was sent twice after a reconnect is done once, and is not taken for a conflict with itself', async () => {
  const store = new Store();
  const id = newEndpointId();
  for (let sent = 0; sent < 2; sent += 1) expect(await write(store, record(id), 0)).toEqual({ kind: 'ok' });
  for (let sent = 0; sent < 2; sent += 1)
    expect(await write(store, record(id, { version: 2 }), 1)).toEqual({ kind: 'ok' });
  expect(await store.redis.xlen(store.keys.audit)).toBe(2);
  expect(await store.redis.get(store.keys.endpointsVersion('default'))).toBe('2');
  for (const kind of ['ok', 'already'])
    expect(await markRemoved(store.redis, store.keys, record(id), 2, AUDIT)).toEqual({ kind });
  expect(await store.redis.xlen(store.keys.audit)).toBe(3);
});

test('a change that was made from an older version, or from none, is a conflict and stores nothing', async () => {
  const store = new Store();
  const id = newEndpointId();
  await write(store, record(id), 0);
  await write(store, record(id, { version: 2 }), 1);
  for (const readVersion of [0, 1, 3])
    expect(await write(store, record(id, { version: 9, description: 'late' }), readVersion)).toEqual({
      kind: 'conflict',
      version: 2,
    });
  expect((await readEndpoint(store.redis, store.keys, id))!.description).toBe('');
});

test('a change that was on its way while the endpoint was removed does not bring it back', async () => {
  const store = new Store();
  const id = newEndpointId();
  await write(store, record(id), 0);
  await markRemoved(store.redis, store.keys, record(id), undefined, AUDIT);
  for (const readVersion of [0, 1])
    expect(await write(store, record(id, { version: 2 }), readVersion)).toEqual({ kind: 'not_found' });
  expect(await write(store, record(newEndpointId(), { version: 2 }), 1)).toEqual({ kind: 'not_found' });
  expect(await readEndpoint(store.redis, store.keys, id)).toBeUndefined();
  expect(await store.redis.exists(store.keys.endpoints('default'))).toBe(0);
});

test('a scan finds every endpoint of every operator once, and no removed one', async () => {
  const store = new Store();
  const ids = ['a', 'b', 'c'].map((operator) => ({ operator, id: newEndpointId() }));
  for (const { operator, id } of ids) await write(store, record(id, { operator }), 0);
  await markRemoved(store.redis, store.keys, record(ids[0]!.id, { operator: 'a' }), 1, AUDIT);
  const found: string[] = [];
  for await (const { endpoint } of scanEndpoints(store.redis, store.keys)) found.push(endpoint.id);
  expect(found.toSorted()).toEqual(
    ids
      .slice(1)
      .map(({ id }) => id)
      .toSorted(),
  );
});
