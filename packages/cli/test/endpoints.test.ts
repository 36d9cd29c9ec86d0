import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSecretBox } from '@breakwater/store/secret-box';
import { readEndpoint, secretIdentity } from '@breakwater/store/endpoints';
import { CONFIG, createRig, type Rig } from './support.ts';

const KEY = 'YnJlYWt3YXRlci1kZW1vLWtleS1ub3QtYS1zZWNyZXQ=';
let rig: Rig;
beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.close());

const add = async (...more: string[]): Promise<string> =>
  (await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/hook', ...more, '--json'])).json().id;

test('an added endpoint is stored as asked for, its secret sealed and shown once', async () => {
  const { code, json } = await rig.cli([
    'endpoints',
    'add',
    '--url',
    'https://partner.example/hook',
    '--types',
    'order.*, refund.created',
    '--source',
    'shop',
    '--description',
    'Partner',
    '--body',
    'raw',
    '--timeout',
    '7s',
    '--max-in-flight',
    '3',
    '--schedule',
    '0s,1m',
    '--reference',
    'source',
    '--json',
  ]);
  expect(code).toBe(0);
  const { secret, ...endpoint } = json();
  expect(secret).toMatch(/^whsec_/);
  const { secrets, ...stored } = (await readEndpoint(rig.redis, rig.keys, endpoint.id))!;
  expect(stored).toEqual({
    id: endpoint.id,
    operator: 'default',
    url: 'https://partner.example/hook',
    types: ['order.*', 'refund.created'],
    sources: ['shop'],
    description: 'Partner',
    body: 'raw',
    timeoutMs: 7_000,
    maxInFlight: 3,
    scheduleMs: [0, 60_000],
    rateLimit: null,
    reference: 'source',
    headers: {},
    version: 1,
    createdAt: expect.any(Number),
    updatedAt: stored.createdAt,
  });
  expect(createSecretBox([KEY]).open(secrets[0]!.sealed, secretIdentity(stored))).toBe(secret);

  for (const args of [
    ['endpoints', 'list'],
    ['endpoints', 'list', '--json'],
    ['endpoints', 'show', endpoint.id],
    ['endpoints', 'show', endpoint.id, '--json'],
  ]) {
    const { stdout } = await rig.cli(args);
    expect(stdout).toContain('https://partner.example/hook');
    expect(stdout).not.toContain(secret);
    expect(stdout).not.toContain(secrets[0]!.sealed);
  }
});

test('for people, add prints the id, the secret, and that it is shown this once', async () => {
  const { stdout } = await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/hook']);
  expect(stdout).toMatch(/^id +ep_\w{22}$/m);
  expect(stdout).toMatch(/^signing secret {2}whsec_\S+$/m);
  expect(stdout).toContain('shown this once');
});

test('a dry run of add refuses what add refuses, and writes nothing', async () => {
  await using own = await createRig();
  const fine = await own.cli([
    'endpoints',
    'add',
    '--url',
    'https://Partner.example/hook',
    '--dry-run',
    '--json',
  ]);
  expect(fine.json()).toMatchObject({ dryRun: true, url: 'https://partner.example/hook' });
  expect(fine.stdout).not.toContain('whsec_');
  for (const wrong of [
    ['--url', 'https://10.0.0.1/'],
    ['--url', 'https://partner.example/', '--timeout', '31s'],
    ['--url', 'https://partner.example/', '--secret', 'whsec_short'],
    ['--url', 'https://partner.example/', '--source', 'nobody'],
  ]) {
    for (const dry of [['--dry-run'], []]) {
      const { code } = await own.cli(['endpoints', 'add', ...wrong, ...dry]);
      expect({ wrong, dry, code }).toEqual({ wrong, dry, code: 2 });
    }
  }
  expect(await own.redis.exists(own.keys.endpoints('default'))).toBe(0);
});

test('without an encryption key nothing is stored, and the dry run says so too', async () => {
  await using own = await createRig(CONFIG.replace(/^encryptionKeys.*$/m, ''));
  for (const dry of [['--dry-run'], []]) {
    const { code, stderr } = await own.cli([
      'endpoints',
      'add',
      '--url',
      'https://partner.example/',
      ...dry,
      '--json',
    ]);
    expect(code).toBe(1);
    expect(JSON.parse(stderr).error.code).toBe('encryption_keys_missing');
  }
});

test('max-in-flight 0 is refused: in a gate it would mean no limit', async () => {
  expect(
    (await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/', '--max-in-flight', '0'])).code,
  ).toBe(2);
});

test('a paused endpoint gets nothing until it is resumed, and both are audited', async () => {
  const id = await add();
  expect((await rig.cli(['endpoints', 'pause', id, '--reason', 'migration', '--json'])).json()).toMatchObject(
    { paused: true, changed: true },
  );
  const [delivery = ''] = await rig.recordEvent(`paused-${id}`, [id]);
  expect(await rig.transitions.beginAttempt(delivery, `${delivery}-1`, 't1')).toEqual({
    kind: 'parked',
    why: 'paused',
  });
  expect((await rig.cli(['endpoints', 'show', id])).stdout).toMatch(/^state +paused$/m);
  expect(
    (await rig.cli(['deliveries', 'list', '--status', 'held', '--json']))
      .json()
      .deliveries.map((each: { id: string }) => each.id),
  ).toContain(delivery);

  expect((await rig.cli(['endpoints', 'resume', id, '--json'])).json()).toMatchObject({
    paused: false,
    changed: true,
  });
  // Its alarm clock was set again: the slot is reserved for the job of the next number.
  expect((await rig.transitions.beginAttempt(delivery, `${delivery}-2`, 't2')).kind).toBe('go');
  const moves = (await rig.audit()).filter((entry) => entry['destination'] === id);
  expect(moves).toEqual([
    expect.objectContaining({ action: 'endpoint.add', actor: 'cli:tess' }),
    expect.objectContaining({
      action: 'destination.pause',
      actor: 'cli:tess',
      operator: 'default',
      reason: 'migration',
    }),
    expect.objectContaining({ action: 'destination.resume', actor: 'cli:tess' }),
  ]);
});

test('resuming an endpoint that is not paused does nothing: its ramp would throttle it', async () => {
  const id = await add();
  expect((await rig.cli(['endpoints', 'resume', id, '--json'])).json()).toMatchObject({ changed: false });
  expect(await rig.redis.hget(rig.keys.gate(id), 'ramp')).toBeNull();
});

test('a dry run of pause changes nothing', async () => {
  const id = await add();
  expect((await rig.cli(['endpoints', 'pause', id, '--dry-run', '--json'])).json()).toMatchObject({
    dryRun: true,
    changed: true,
  });
  expect(await rig.redis.hget(rig.keys.gate(id), 'paused')).toBeNull();
});

test("another operator's endpoint is not found, whatever is asked of it", async () => {
  const id = await add();
  for (const args of [
    ['show', id],
    ['pause', id],
    ['pause', id, '--dry-run'],
    ['resume', id],
    ['update', id, '--description', 'x'],
    ['update', id, '--description', 'x', '--dry-run'],
    ['rotate-secret', id],
    ['rotate-secret', id, '--finish'],
    ['rotate-secret', id, '--dry-run'],
    ['test', id],
    ['test', id, '--dry-run'],
    ['remove', id],
    ['remove', id, '--dry-run'],
  ]) {
    expect((await rig.cli(['--operator', 'other', 'endpoints', ...args])).code).toBe(3);
  }
  expect(await rig.redis.hget(rig.keys.gate(id), 'paused')).toBeNull();
  expect((await rig.cli(['--operator', 'other', 'endpoints', 'list', '--json'])).json()).toEqual({
    endpoints: [],
    nextOffset: null,
  });
});

test('an operator whose name no record can have is a mistake on the command line, not an empty list', async () => {
  const { code, stdout } = await rig.cli(['endpoints', 'list', '--operator', 'default:version']);
  expect([code, stdout]).toEqual([2, '']);
});
