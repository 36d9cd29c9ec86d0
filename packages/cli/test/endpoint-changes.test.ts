import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isPaused, readEndpoint } from '@breakwater/store/endpoints';
import { createSecretBox } from '@breakwater/store/secret-box';
import { Webhook } from 'standardwebhooks';
import { startSubscriber, type Subscriber } from '../../../test/support/subscriber.ts';
import { CONFIG, createRig, type Rig } from './support.ts';

const OLD_KEY = 'YnJlYWt3YXRlci1kZW1vLWtleS1ub3QtYS1zZWNyZXQ=';
const NEW_KEY = Buffer.alloc(32, 2).toString('base64');
let rig: Rig;
let subscriber: Subscriber;
beforeAll(async () => {
  rig = await createRig();
  subscriber = await startSubscriber(200);
});
afterAll(async () => {
  await rig.close();
  await subscriber.close();
});

const add = async (...more: string[]): Promise<{ id: string; secret: string }> =>
  (await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/hook', ...more, '--json'])).json();
const endpoints = (...args: string[]) => rig.cli(['endpoints', ...args, '--json']);
const errorOf = ({ stderr }: { stderr: string }): string => JSON.parse(stderr).error.code;

test('update changes what is named, and a header is shown by name only, whatever is asked', async () => {
  const { id } = await add(
    '--header',
    'X-Api-Key: top-secret',
    '--rate-limit',
    '30/m',
    '--schedule',
    '0s,1m',
  );
  const { code, json, stderr } = await endpoints(
    'update',
    id,
    '--types',
    'order.*',
    '--timeout',
    '9s',
    '--rate-limit',
    '20/s',
    '--burst',
    '50',
    '--header',
    'Authorization: Bearer abcdef',
    '--remove-header',
    'x-api-key',
    '--schedule',
    'default',
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(json()).toMatchObject({
    changed: true,
    version: 2,
    types: ['order.*'],
    timeoutMs: 9_000,
    rateLimit: { perSecond: 20, burst: 50 },
    scheduleMs: null,
    headers: { authorization: '[hidden]' },
  });
  const outputs = await Promise.all([
    rig.cli(['endpoints', 'show', id]),
    rig.cli(['endpoints', 'list']),
    endpoints('list'),
    endpoints('update', id, '--rate-limit', 'none'),
  ]);
  for (const { stdout } of outputs) expect(stdout).not.toMatch(/abcdef|top-secret/);
  expect((await endpoints('show', id)).json()).toMatchObject({ version: 3, rateLimit: null });
  expect((await rig.audit()).map((entry) => JSON.stringify(entry)).join()).not.toMatch(/abcdef|top-secret/);
});

test('an update for a version that is not the present one is refused with code 4 and says which one is', async () => {
  const { id } = await add();
  expect((await endpoints('update', id, '--description', 'one', '--if-version', '1')).code).toBe(0);
  const late = await endpoints('update', id, '--description', 'two', '--if-version', '1');
  expect([late.code, errorOf(late)]).toEqual([4, 'version_conflict']);
  expect(late.stderr).toContain('is at version 2');
});

test('a dry run of update checks and changes nothing; repeating a change says that it is so already', async () => {
  const { id } = await add();
  const dry = await endpoints('update', id, '--description', 'new', '--dry-run');
  expect(dry.json()).toMatchObject({ dryRun: true, changed: true, description: 'new' });
  expect((await readEndpoint(rig.redis, rig.keys, id))!.description).toBe('');
  expect((await endpoints('update', id, '--url', 'https://10.0.0.1/', '--dry-run')).code).toBe(2);
  await endpoints('update', id, '--description', 'new');
  expect((await rig.cli(['endpoints', 'update', id, '--description', 'new'])).stdout).toContain(
    'nothing to do',
  );
});

test('what cannot be meant is refused with code 2 and without the value of a header', async () => {
  const { id } = await add();
  for (const wrong of [
    [],
    ['--header', 'no-colon secret'],
    ['--header', 'host: secret'],
    ['--header', 'x: secret', '--header', 'X: secret'],
    ['--header', 'x: secret', '--remove-header', 'x'],
    ['--burst', '3'],
    ['--rate-limit', 'fast'],
    ['--source', 'shop', '--all-sources'],
    ['--types', 'a b'],
    ['--schedule', 'never'],
  ]) {
    const { code, stdout, stderr } = await rig.cli(['endpoints', 'update', id, ...wrong]);
    expect({ wrong, code, stdout }).toEqual({ wrong, code: 2, stdout: '' });
    expect(stderr).not.toContain('secret');
  }
  expect((await readEndpoint(rig.redis, rig.keys, id))!.version).toBe(1);
});

test('rotate-secret shows the new secret once, and show says how long the former one signs', async () => {
  const { id, secret: former } = await add();
  const rotated = (await endpoints('rotate-secret', id, '--overlap', '2h')).json();
  expect(rotated.secret).toMatch(/^whsec_/);
  expect(rotated.secret).not.toBe(former);
  const { stdout } = await rig.cli(['endpoints', 'show', id]);
  expect(stdout).toMatch(/^secret +current, not shown, stored under key [0-9a-f]{8}$/m);
  expect(stdout).toMatch(/^secret +former, signs for another (2h|1h 59m)/m);
  expect(stdout).not.toContain(rotated.secret);
  const again = await endpoints('rotate-secret', id);
  expect([again.code, errorOf(again)]).toEqual([4, 'rotation_open']);
  expect((await endpoints('rotate-secret', id, '--finish', '--dry-run')).json()).toMatchObject({
    changed: true,
  });
  expect((await endpoints('rotate-secret', id, '--finish')).json()).toMatchObject({ changed: true });
  expect((await endpoints('rotate-secret', id, '--finish')).json()).toMatchObject({ changed: false });
  const dry = await endpoints('rotate-secret', id, '--dry-run');
  expect(dry.json()).not.toHaveProperty('secret'); // it would be one that never signs
  expect((await readEndpoint(rig.redis, rig.keys, id))!.secrets).toHaveLength(1);
});

test('a test request is sent once, signed; the command exits with 0 when it is accepted and 1 when it is not, with the remedy', async () => {
  const { id, secret } = await add();
  await endpoints('update', id, '--url', subscriber.url);
  const before = subscriber.received.length;
  expect((await endpoints('test', id, '--dry-run')).json()).toMatchObject({ ok: true, dryRun: true });
  expect(subscriber.received).toHaveLength(before);
  const good = await endpoints('test', id);
  expect([good.code, good.json().code]).toEqual([0, '200']);
  expect(subscriber.received).toHaveLength(before + 1);
  const { body, headers } = subscriber.received.at(-1)!;
  new Webhook(secret).verify(body, headers as Record<string, string>);
  subscriber.answer(401);
  const bad = await rig.cli(['endpoints', 'test', id]);
  subscriber.answer(200);
  expect(bad.code).toBe(1);
  expect(bad.stdout).toMatch(/^result +http_auth$/m);
  expect(bad.stdout).toMatch(/^remedy +.*do not match/m);
  expect(bad.stdout).toMatch(/^sample \(text\/plain\) +answer \d+$/m);
});

test('a test that succeeds ends a pause that nobody asked for, and says so; a pause by a person stays', async () => {
  const { id } = await add();
  await endpoints('update', id, '--url', subscriber.url);
  await endpoints('pause', id, '--reason', 'maintenance');
  expect((await endpoints('test', id)).json()).toMatchObject({ ok: true, resumed: false });
  expect(await isPaused(rig.redis, rig.keys, id)).toBe(true);
  await rig.redis.hset(rig.keys.gate(id), 'pausedAuto', '1'); // as if the last of too many failures had paused it
  const tried = await rig.cli(['endpoints', 'test', id]);
  expect([tried.code, tried.stdout]).toEqual([0, expect.stringMatching(/^pause +.*that is over$/m)]);
  expect(await isPaused(rig.redis, rig.keys, id)).toBe(false);
});

test('remove dead-letters what is open, says so once, and may be repeated; its dry run counts and changes nothing', async () => {
  const { id } = await add();
  await endpoints('pause', id);
  const [one = ''] = await rig.recordEvent(`removed-1-${id}`, [id]);
  const [two = ''] = await rig.recordEvent(`removed-2-${id}`, [id]);
  expect((await endpoints('remove', id, '--dry-run')).json()).toMatchObject({
    changed: true,
    deadLettered: 2,
  });
  expect((await endpoints('show', id)).code).toBe(0);
  const removed = await endpoints('remove', id, '--reason', 'left');
  expect(removed.json()).toEqual({ ok: true, id, changed: true, deadLettered: 2, finished: true });
  expect((await endpoints('remove', id)).json()).toMatchObject({ changed: false, deadLettered: 0 });
  expect((await endpoints('show', id)).code).toBe(3);
  expect(await isPaused(rig.redis, rig.keys, id)).toBe(false);
  const listed = await rig.cli([
    'dead-letters',
    'list',
    '--endpoint',
    id,
    '--reason-is',
    'endpoint_removed',
    '--json',
  ]);
  expect(
    listed
      .json()
      .deliveries.map((each: { id: string }) => each.id)
      .toSorted(),
  ).toEqual([one, two].toSorted());
  for (const dry of [[], ['--dry-run']]) {
    const replay = await rig.cli(['dead-letters', 'replay', one, '--reason', 'x', ...dry]);
    expect(replay.code).toBe(4);
    expect(`${replay.stdout}${replay.stderr}`).toContain('was removed');
  }
});

test('secrets reencrypt counts, rehearses, does it for all operators, and says when the old key can go', async () => {
  await using own = await createRig();
  const one = (await own.cli(['endpoints', 'add', '--url', 'https://partner.example/', '--json'])).json();
  await own.cli(['endpoints', 'add', '--url', 'https://partner.example/', '--operator', 'other', '--json']);
  const both = await reconfigured(own, `${NEW_KEY},${OLD_KEY}`);
  const dry = await both(['secrets', 'reencrypt', '--dry-run', '--json']);
  expect(dry.json()).toMatchObject({ ok: true, dryRun: true, endpoints: 2, reencrypted: 2 });
  const done = await both(['secrets', 'reencrypt']);
  expect(done.code).toBe(0);
  expect(done.stdout).toContain('drop the others from ENCRYPTION_KEYS');
  const alone = await reconfigured(own, NEW_KEY);
  expect((await alone(['secrets', 'reencrypt', '--json'])).json()).toMatchObject({
    reencrypted: 0,
    current: 2,
  });
  expect((await alone(['endpoints', 'test', one.id, '--dry-run'])).code).toBe(0);
  const stored = (await readEndpoint(own.redis, own.keys, one.id))!;
  expect(stored.secrets[0]!.sealed).toContain(createSecretBox([NEW_KEY]).newestKey);

  const without = await reconfigured(own, OLD_KEY);
  const refused = await without(['secrets', 'reencrypt']);
  expect(refused.code).toBe(1);
  expect(refused.stdout).toContain('stays as it is');
  expect((await without(['endpoints', 'test', one.id, '--json'])).stderr).toContain(
    'encryption_keys_missing',
  );
});

/** The same Redis with other encryption keys in the configuration. */
async function reconfigured(own: Rig, keys: string): Promise<(args: string[]) => ReturnType<Rig['cli']>> {
  const other = await createRig(CONFIG.replace(/^encryptionKeys.*$/m, `encryptionKeys: '${keys}'`));
  closing.push(other);
  return (args) => own.cli(args, { env: { BREAKWATER_CONFIG: other.env.BREAKWATER_CONFIG } });
}
const closing: Rig[] = [];
afterAll(() => Promise.all(closing.map((each) => each.close())));
