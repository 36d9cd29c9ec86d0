import { createCipheriv } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { readDelivery } from '@breakwater/store/deliveries';
import { readEndpoint, swapEndpointRecord } from '@breakwater/store/endpoints';
import { createSecretBox, keyOfSealed } from '@breakwater/store/secret-box';
import { openEndpoint } from '../src/endpoint-secrets.ts';
import { updateEndpoint } from '../src/endpoints.ts';
import { reencryptSecrets } from '../src/reencrypt.ts';
import { rotateSecret } from '../src/rotate-secret.ts';
import { API_KEY, NEW_KEY, OLD_KEY, openEndpoints, startReceiver } from './support/endpoints.ts';

const [oldId, newId] = [OLD_KEY, NEW_KEY].map((key) => createSecretBox([key]).newestKey!) as [string, string];
const OPTIONS = { actor: 'tester' };

test('a delivery whose secret cannot be opened waits: nothing is sent, lost or used up, and it goes on once the key is back', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url, scheduleMs: [0] });
  const id = await work.deliver(endpoint.id);
  const before = await work.redis.time();
  for (let look = 0; look < 3; look += 1) {
    await work.redis.hset(work.keys.delivery(id), 'nextAttemptAt', 1);
    await work.attempt(id, [NEW_KEY]);
  }
  const waiting = (await readDelivery(work.redis, work.keys, 'default', id))!;
  expect(waiting).toMatchObject({ status: 'pending', scheduleMade: 0, attempts: [], inFlight: false });
  expect(waiting.nextAttemptAt).toBeGreaterThanOrEqual(Number(before[0]) * 1_000 + 60_000); // no hot loop
  expect(receiver.seen).toHaveLength(0);
  await work.redis.hset(work.keys.delivery(id), 'nextAttemptAt', 1);
  await work.attempt(id, [NEW_KEY, OLD_KEY]);
  expect(await work.status(id)).toBe('sent');
  expect(receiver.seen).toHaveLength(1);
});

test('during a rotation nothing is sent with one signature of two: a receiver with the other would refuse it', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url });
  await rotateSecret(
    work.under(NEW_KEY, OLD_KEY),
    { operator: 'default', id: endpoint.id, actor: 't' },
    { overlapMs: 60_000 },
  );
  const id = await work.deliver(endpoint.id);
  await work.attempt(id, [NEW_KEY]);
  expect([await work.status(id), receiver.seen.length]).toEqual(['pending', 0]);
});

test('a key that is lost for good costs new secrets and headers, and no delivery', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url });
  const id = await work.deliver(endpoint.id);
  await work.attempt(id, [NEW_KEY]);
  expect(await work.status(id)).toBe('pending');
  const change = { operator: 'default', id: endpoint.id, actor: 't' };
  await rotateSecret(work.under(NEW_KEY), change, { overlapMs: 0 });
  await updateEndpoint(work.under(NEW_KEY), change, { headers: { 'x-api-key': 'anew' } });
  await work.redis.hset(work.keys.delivery(id), 'nextAttemptAt', 1);
  await work.attempt(id, [NEW_KEY]);
  expect(await work.status(id)).toBe('sent');
  expect(receiver.seen[0]?.headers['x-api-key']).toBe('anew');
});

test('after re-encryption the old key can be dropped: every secret, former secret and header opens without it', async () => {
  const work = openEndpoints();
  const added = await Promise.all(
    ['default', 'other', 'third'].map((operator) => work.add({ operator, sources: [], reference: 'source' })),
  );
  const rotated = { operator: 'default', id: added[0]!.endpoint.id, actor: 't' };
  const { secret } = await rotateSecret(work, rotated, { overlapMs: 60_000 });
  const both = work.under(NEW_KEY, OLD_KEY);

  const rehearsal = await reencryptSecrets(both, { ...OPTIONS, dryRun: true });
  expect(rehearsal).toMatchObject({ endpoints: 3, reencrypted: 3, current: 0, sealedWith: { [oldId]: 7 } });
  expect(await reencryptSecrets(both, OPTIONS)).toEqual({
    endpoints: 3,
    reencrypted: 3,
    current: 0,
    changedMeanwhile: 0,
    unreadable: [],
    sealedWith: { [newId]: 7 },
    finished: true,
  });
  expect(await reencryptSecrets(work.under(NEW_KEY), OPTIONS)).toMatchObject({ reencrypted: 0, current: 3 });
  const stored = (await readEndpoint(work.redis, work.keys, rotated.id))!;
  expect(stored.version).toBe(2); // what it says is what it said
  const opened = await openEndpoint(work.redis, createSecretBox([NEW_KEY]), stored);
  expect(opened).toEqual({ secrets: [secret, added[0]!.secret], headers: { 'x-api-key': API_KEY } });
  expect((await work.audit()).filter(({ action }) => action === 'endpoint.reencrypt')).toHaveLength(3);
});

test('re-encryption that was stopped goes on where it was', async () => {
  const work = openEndpoints();
  for (let made = 0; made < 5; made += 1) await work.add();
  const stop = new AbortController();
  const both = work.under(NEW_KEY, OLD_KEY);
  const first = await reencryptSecrets(both, {
    ...OPTIONS,
    signal: stop.signal,
    onProgress: (looked) => looked === 2 && stop.abort(),
  });
  expect(first).toMatchObject({ finished: false, reencrypted: 2 });
  expect(await reencryptSecrets(both, OPTIONS)).toMatchObject({ finished: true, reencrypted: 3, current: 2 });
});

test('what no key opens is named and left as it is, and the rest is done', async () => {
  const work = openEndpoints();
  const { endpoint: lost } = await work.add();
  const before = await readEndpoint(work.redis, work.keys, lost.id);
  const newer = work.under(NEW_KEY);
  const { endpoint: fine } = await work.add();
  await updateEndpoint(
    newer,
    { operator: 'default', id: fine.id, actor: 't' },
    { headers: { 'x-api-key': 'n' } },
  );
  const third = createSecretBox([Buffer.alloc(32, 3).toString('base64'), NEW_KEY]);
  const result = await reencryptSecrets({ ...work, secrets: third }, OPTIONS);
  expect(result.unreadable.map(({ id }) => id).toSorted()).toEqual([lost.id, fine.id].toSorted());
  expect(result.unreadable[0]!.why).toContain(oldId);
  expect(await readEndpoint(work.redis, work.keys, lost.id)).toEqual(before);
  expect(result.sealedWith).toEqual({ [oldId]: 3, [newId]: 1 });
});

test('a change that comes between reading and sealing anew is not undone', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const stored = (await work.redis.hget(work.keys.endpoint(endpoint.id), 'record'))!;
  await updateEndpoint(work, { operator: 'default', id: endpoint.id, actor: 't' }, { description: 'newer' });
  const audit = { action: 'endpoint.reencrypt', actor: 't' };
  expect(await swapEndpointRecord(work.redis, work.keys, stored, endpoint, audit)).toBe(false);
  expect((await readEndpoint(work.redis, work.keys, endpoint.id))!.description).toBe('newer');
});

test('a sealed text that was moved to another endpoint signs nothing there', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const [{ endpoint: one }, { endpoint: other }] = [await work.add({ url: receiver.url }), await work.add()];
  await work.redis.hset(
    work.keys.endpoint(one.id),
    'record',
    JSON.stringify({ ...one, secrets: other.secrets }),
  );
  const id = await work.deliver(one.id);
  await work.attempt(id);
  expect([await work.status(id), receiver.seen.length]).toEqual(['pending', 0]);
  expect(keyOfSealed(other.secrets[0]!.sealed)).toBe(oldId);
});

test('a record from before there were identities and versions still signs, and re-encryption binds it', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint, secret } = await work.add({ url: receiver.url, headers: {} });
  const { version: _v, headers: _h, rateLimit: _r, updatedAt: _u, ...former } = endpoint;
  await work.redis.hset(
    work.keys.endpoint(endpoint.id),
    'record',
    JSON.stringify({ ...former, secrets: [sealAsVersion1(OLD_KEY, secret)] }),
  );
  const id = await work.deliver(endpoint.id);
  await work.attempt(id);
  expect(await work.status(id)).toBe('sent');
  expect(await reencryptSecrets(work, OPTIONS)).toMatchObject({ reencrypted: 1 });
  const stored = (await readEndpoint(work.redis, work.keys, endpoint.id))!;
  expect(stored.secrets[0]!.sealed).toMatch(/^v2\./);
  expect((await openEndpoint(work.redis, work.secrets, stored)).secrets).toEqual([secret]);
});

/** As the first version of the box sealed: without an identity. */
function sealAsVersion1(key: string, text: string): string {
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64'), Buffer.alloc(12, 9));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return `v1.${oldId}.${Buffer.concat([Buffer.alloc(12, 9), cipher.getAuthTag(), sealed]).toString('base64')}`;
}
