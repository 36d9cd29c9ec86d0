import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { noteSourceKnown, noteSourceUse } from '@breakwater/store/source-use';
import { CONFIG, createRig, type Rig } from './support.ts';

const DAY = 86_400_000;
const TWO = CONFIG.replace(
  'secrets: [{ id: current, value: shop-secret }]',
  'secrets: [{ id: current, value: shop-secret }, { id: old, value: former-secret }, { id: spare, value: spare-secret }]',
).replace(
  'erpTargets:',
  `  elsewhere:
    operator: acme
    secrets: [{ id: only, value: x }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: { pointer: /id }
erpTargets:`,
);

let rig: Rig;
beforeAll(async () => {
  rig = await createRig(TWO);
  const [current, old, spare] = [
    { id: 'current', value: 'shop-secret' },
    { id: 'old', value: 'former-secret' },
    { id: 'spare', value: 'spare-secret' },
  ];
  const { redis, keys } = rig;
  await noteSourceKnown(redis, keys, 'shop', [current, old], Date.now() - 30 * DAY);
  await noteSourceKnown(redis, keys, 'shop', [spare], Date.now() - 3 * DAY);
  await noteSourceUse(redis, keys, 'shop', {
    lastSeenAt: Date.now() - 5_000,
    lastAcceptedAt: Date.now() - 5_000,
    hours: new Map(),
    secrets: [
      { secret: current, lastUsedAt: Date.now() - 5_000 },
      { secret: old, lastUsedAt: Date.now() - 8.5 * DAY },
    ],
  });
});
afterAll(() => rig.close());

test('sources show says of each secret when it was last used and whether it can go', async () => {
  const { code, stdout } = await rig.cli(['sources', 'show', 'shop']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/current +last used \d+s ago; keep/);
  expect(stdout).toMatch(/old +last used 8 days ago; safe to remove: not used for 8 days while current was/);
  expect(stdout).toMatch(/spare +never used since \d{4}-.*; keep: 7d without a use/);
});

test('how long a secret must be unused is for the person to say', async () => {
  const states = async (...args: string[]) => {
    const { secrets } = (await rig.cli(['sources', 'show', 'shop', '--json', ...args])).json();
    return secrets.map(({ id, state, removable }: Record<string, unknown>) => [id, state, removable]);
  };
  expect(await states()).toEqual([
    ['current', 'in_use', false],
    ['old', 'removable', true],
    ['spare', 'in_use', false],
  ]);
  expect(await states('--unused-for', '14d')).toContainEqual(['old', 'in_use', false]);
  expect(await states('--unused-for', '2d')).toContainEqual(['spare', 'removable', true]);
});

test('sources list shows the sources of the operator only, with the secrets in use', async () => {
  const { stdout } = await rig.cli(['sources', 'list']);
  expect(stdout).toMatch(/^shop +default +- +\d{4}-.*ago\) +- +current$/m);
  expect(stdout).not.toContain('elsewhere');
  const { sources } = (await rig.cli(['sources', 'list', '--json', '--operator', 'acme'])).json();
  expect(sources).toEqual([
    {
      name: 'elsewhere',
      operator: 'acme',
      preset: null,
      observedSince: null,
      lastSeenAt: null,
      lastAcceptedAt: null,
      silent: false,
      patienceMs: null,
      expected: 0,
      secrets: [
        {
          id: 'only',
          state: 'only_one',
          removable: false,
          knownSince: null,
          lastUsedAt: null,
          notBefore: null,
          notAfter: null,
          insteadUsed: [],
        },
      ],
    },
  ]);
});

test("another operator's source is not found", async () => {
  const { code, stdout, stderr } = await rig.cli(['sources', 'show', 'elsewhere']);
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr).toContain('No source elsewhere of operator default is configured: shop.');
});

test('no secret is ever printed', async () => {
  for (const args of [['list'], ['show', 'shop'], ['list', '--json'], ['show', 'shop', '--json']]) {
    const { stdout, stderr } = await rig.cli(['sources', ...args]);
    expect(stdout + stderr).not.toMatch(/shop-secret|former-secret|spare-secret/);
  }
});
