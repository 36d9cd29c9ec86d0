import { expect, test } from '@jest/globals';
import { readEndpoint } from '@breakwater/store/endpoints';
import { readDelivery } from '@breakwater/store/deliveries';
import { updateEndpoint } from '../src/endpoints.ts';
import { API_KEY, openEndpoints, startReceiver } from './support/endpoints.ts';

const change = (id: string, ifVersion?: number) => ({
  operator: 'default',
  id,
  actor: 'tester',
  ...(ifVersion !== undefined && { ifVersion }),
});
const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

test('neither a secret nor the value of a header is anywhere in Redis as it was typed', async () => {
  const work = openEndpoints();
  const { endpoint, secret } = await work.add();
  await updateEndpoint(work, change(endpoint.id), { headers: { authorization: 'Bearer another-secret' } });
  const all = await work.everything();
  expect(all).toContain('https://example.com/hook');
  for (const hidden of [secret, secret.slice('whsec_'.length), API_KEY, 'another-secret'])
    expect(all).not.toContain(hidden);
});

test('an update changes what it names, raises the version, reaches the gate, and is audited with before and after', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add({ rateLimit: { perSecond: 5, burst: 9 } });
  const gate = () =>
    work.redis.hmget(work.keys.gate(endpoint.id), 'cap', 'rate_per_s', 'rate_burst', 'policy');
  expect((await gate()).slice(0, 3)).toEqual(['10', '5', '9']);
  await updateEndpoint(
    work,
    { ...change(endpoint.id), reason: 'they asked' },
    {
      url: 'https://Example.com/v2',
      timeoutMs: 9_000,
      maxInFlight: 2,
      scheduleMs: [0, 5_000],
      rateLimit: null,
      headers: { 'x-api-key': null, 'X-New': 'n' },
    },
  );
  const stored = await readEndpoint(work.redis, work.keys, endpoint.id);
  expect(stored).toMatchObject({
    version: 2,
    url: 'https://example.com/v2',
    timeoutMs: 9_000,
    types: ['*'],
    secrets: endpoint.secrets,
  });
  expect(Object.keys(stored!.headers)).toEqual(['x-new']);
  const [cap, perS, burst, policy] = await gate();
  expect([cap, perS, burst]).toEqual(['2', null, null]);
  expect(JSON.parse(policy!)).toEqual({ leaseMs: 19_000, scheduleMs: [0, 5_000] });
  const entry = (await work.audit()).at(-1)!;
  expect(entry).toMatchObject({
    action: 'endpoint.update',
    actor: 'tester',
    operator: 'default',
    reason: 'they asked',
  });
  expect(JSON.parse(entry['before']!)).toMatchObject({
    version: 1,
    timeoutMs: 5_000,
    headers: { 'x-api-key': '[hidden]' },
  });
  expect(JSON.parse(entry['after']!)).toMatchObject({
    version: 2,
    timeoutMs: 9_000,
    headers: { 'x-new': '[hidden]' },
  });
  expect(entry['headersChanged']).toBe('x-api-key,x-new');
  expect(JSON.parse(entry['after']!)).not.toHaveProperty('types');
});

test('of two changes that were made for the same version one is refused, and nothing of it is stored', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const answers = await Promise.all(
    [1, 2, 3, 4].map((n) => code(updateEndpoint(work, change(endpoint.id, 1), { description: `d${n}` }))),
  );
  expect(answers.toSorted()).toEqual(['done', 'version_conflict', 'version_conflict', 'version_conflict']);
  expect(await code(updateEndpoint(work, change(endpoint.id, 1), { description: 'late' }))).toBe(
    'version_conflict',
  );
  const winner = `d${answers.indexOf('done') + 1}`;
  expect(await readEndpoint(work.redis, work.keys, endpoint.id)).toMatchObject({
    version: 2,
    description: winner,
  });
  expect((await work.audit()).map(({ action }) => action)).toEqual(['endpoint.add', 'endpoint.update']);
});

test('an update that changes nothing makes no version and no audit entry, also where it repeats a header', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add({ description: 'same' });
  const { changed } = await updateEndpoint(work, change(endpoint.id), {
    description: 'same',
    headers: { 'x-api-key': API_KEY },
  });
  expect(changed).toBe(false);
  expect(await work.audit()).toHaveLength(1);
});

test('an update refuses what registration refuses, and headers that are too many only together', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const update = (patch: Parameters<typeof updateEndpoint>[2]) =>
    code(updateEndpoint(work, change(endpoint.id), patch));
  expect(await update({ url: 'https://10.0.0.1/' })).toBe('address_blocked');
  expect(await update({ timeoutMs: 31_000 })).toBe('request_invalid');
  expect(await update({ sources: ['nobody'] })).toBe('request_invalid');
  expect(await update({ sources: ['shop', 'bank'] })).toBe('request_invalid'); // their event ids may meet
  expect(await update({ headers: { host: 'x' } })).toBe('request_invalid');
  const twenty = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x-${index}`, 'v']));
  expect(await update({ headers: twenty })).toBe('request_invalid');
  expect(await update({ headers: { ...twenty, 'x-api-key': null } })).toBe('done');
  expect(await update({ sources: ['shop', 'bank'], reference: 'source' })).toBe('done');
});

test("another operator's endpoint is changed by nobody and looks as if it did not exist", async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const other = { ...change(endpoint.id), operator: 'other' };
  const missing = { ...change('ep_AAAAAAAAAAAAAAAAAAAAAA'), operator: 'other' };
  const told = await Promise.all(
    [other, missing].map((each) =>
      updateEndpoint(work, each, { description: 'x' }).catch((error: Error) =>
        error.message.replaceAll(each.id, 'ID'),
      ),
    ),
  );
  expect(told[0]).toBe('No endpoint ID belongs to operator other.');
  expect(told[1]).toBe(told[0]);
});

test('the next attempt of a delivery goes to the URL, with the headers and the body of today', async () => {
  const [before, after] = [await startReceiver(() => ({ status: 500 })), await startReceiver()];
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: before.url });
  const id = await work.deliver(endpoint.id, '{"amount":1.10}');
  await work.attempt(id);
  expect(before.seen[0]?.headers['x-api-key']).toBe(API_KEY);
  await updateEndpoint(work, change(endpoint.id), {
    url: after.url,
    body: 'raw',
    headers: { 'x-api-key': 'changed' },
  });
  await work.redis.hset(work.keys.delivery(id), 'nextAttemptAt', 1);
  await work.attempt(id);
  expect(await work.status(id)).toBe('sent');
  expect(before.seen).toHaveLength(1);
  expect(after.seen[0]?.headers['x-api-key']).toBe('changed');
  expect(after.seen[0]?.body.toString()).toBe('{"amount":1.10}');
});

test('a new schedule leaves an armed retry where it was and decides the waits after it', async () => {
  const receiver = await startReceiver(() => ({ status: 500 }));
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url, scheduleMs: [0, 3_600_000] });
  const id = await work.deliver(endpoint.id);
  await work.attempt(id);
  const armed = await work.redis.hmget(work.keys.delivery(id), 'seq', 'nextAttemptAt');
  await updateEndpoint(work, change(endpoint.id), { scheduleMs: [0, 1_000, 7_200_000] });
  expect(await work.redis.hmget(work.keys.delivery(id), 'seq', 'nextAttemptAt')).toEqual(armed);
  await work.redis.hset(work.keys.delivery(id), 'nextAttemptAt', 1);
  await work.attempt(id);
  const shown = await readDelivery(work.redis, work.keys, 'default', id);
  const last = shown!.attempts.at(-1)!;
  expect(shown!.status).toBe('failed'); // the former schedule would have ended here
  expect(shown!.nextAttemptAt! - (last.startedAt + last.durationMs)).toBe(7_200_000);
});

test('what a receiver echoes of a secret or a header is masked in its sample', async () => {
  const receiver = await startReceiver(({ headers }) => ({
    status: 400,
    body: `you sent ${String(headers['authorization'])} and ${String(headers['x-api-key'])}`,
  }));
  const work = openEndpoints();
  const { endpoint } = await work.add({
    url: receiver.url,
    headers: { authorization: 'Bearer tok-en-1', 'x-api-key': API_KEY },
  });
  const id = await work.deliver(endpoint.id);
  await work.attempt(id);
  expect(receiver.seen).toHaveLength(1);
  expect(await work.redis.hget(work.keys.sample(id), 'text')).toBe('you sent [redacted] and [redacted]');
});

test('an operator whose name would reach into the keys of another is refused', async () => {
  const work = openEndpoints();
  await work.add();
  for (const operator of ['default:version', 'a:to:b', '', 'a b', '-a', 'x'.repeat(64)])
    expect(await code(work.add({ operator, sources: [], reference: 'source' }))).toBe('request_invalid');
  expect(await code(work.add({ operator: 'Acme-2.eu', sources: [], reference: 'source' }))).toBe('done');
});
