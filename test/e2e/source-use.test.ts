import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { HOUR_MS, HOURS_KEPT, noteSourceUse } from '@breakwater/store/source-use';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { demoSignature } from '../support/webhook.ts';

const CONFIG = `
sources:
  shop:
    secrets: [{ id: old, value: former-secret }, { id: current, value: new-secret }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, prefix: sha256=, encoding: hex } }
    eventId: { pointer: /id }
  quiet:
    secrets: [{ id: only, value: x }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: { pointer: /id }
`;

let rig: Rig;
beforeAll(
  async () => void (rig = await startRig({ config: CONFIG, services: ['ingest', 'console'] })),
  60_000,
);
afterAll(() => rig.close(), 60_000);

async function send(id: string, secret: string): Promise<number> {
  const body = JSON.stringify({ id });
  const response = await fetch(`${rig.ingestUrl}/webhooks/shop`, {
    method: 'POST',
    body,
    headers: { 'x-signature': demoSignature(body, secret) },
  });
  return response.status;
}

interface Shown {
  observedSince: number | null;
  lastSeenAt: number | null;
  secrets: { id: string; state: string; removable: boolean; lastUsedAt: number | null }[];
}
const show = (): Promise<Shown> => rig.json('sources', 'show', 'shop', '--unused-for', '1s');
const gauge = async (name: string, source = 'shop'): Promise<string | undefined> =>
  new RegExp(`^breakwater_source_${name}\\{source="${source}"\\} (\\S+)$`, 'm').exec(
    await (await fetch(`${rig.opsUrl('console')}/metrics`)).text(),
  )?.[1];

test('a source that has sent for two weeks and stopped five hours ago is silent', async () => {
  const redis = connectRedis(rig.redis.url, 'scripts', createLogger({ service: 'test', level: 'silent' }));
  const keys = createKeyspace('bw');
  const lastSeenAt = Date.now() - 5 * HOUR_MS;
  const lastHour = Math.floor(lastSeenAt / HOUR_MS);
  try {
    const hours = new Map(Array.from({ length: HOURS_KEPT }, (_, back) => [lastHour - back, 60] as const));
    await noteSourceUse(redis, keys, 'quiet', { lastSeenAt, hours, secrets: [] });
    await redis.hset(keys.sourceUse('quiet'), 'since', lastSeenAt - HOURS_KEPT * HOUR_MS);
  } finally {
    await closeRedis(redis);
  }
  await waitUntil(async () => (await gauge('silent', 'quiet')) === '1', { what: 'the metric' });
  expect(Number(await gauge('last_seen_seconds', 'quiet'))).toBeGreaterThanOrEqual(18_000);
  expect((await rig.cli('sources', 'show', 'quiet')).stdout).toMatch(/silent +yes: about 180 requests/);
}, 60_000);

test('a rotation can be finished: the old secret is in use until the provider has changed, then it can go', async () => {
  await waitUntil(async () => (await show()).observedSince !== null, { what: 'ingest to be known' });
  expect(await send('1', 'former-secret')).toBe(200);
  expect(await send('forged', 'no secret')).toBe(401);
  const before = await waitUntil(
    async () => {
      const shown = await show();
      return shown.lastSeenAt !== null && shown;
    },
    { what: 'the use of the old secret', timeoutMs: 20_000, intervalMs: 200 },
  );
  expect(before.secrets.map(({ id, lastUsedAt }) => [id, lastUsedAt])).toEqual([
    ['old', before.lastSeenAt],
    ['current', null],
  ]);
  expect(before.secrets.find(({ id }) => id === 'old')?.removable).toBe(false);

  // By now the old secret has been unused for the second that counts as long here.
  await waitUntil(() => Date.now() > (before.lastSeenAt ?? 0) + 1_500, { what: 'a second' });
  expect(await send('2', 'new-secret')).toBe(200);
  await waitUntil(async () => (await gauge('last_seen_seconds')) !== undefined, { what: 'the metric' });
  expect(await gauge('silent')).toBe('0');

  await rig.stop('ingest'); // tells what is untold; the command line needs no service
  await rig.stop('console');
  const after = await show();
  expect(after.secrets).toMatchObject([
    { id: 'old', state: 'removable', removable: true, lastUsedAt: before.lastSeenAt },
    { id: 'current', removable: false },
  ]);
  const { stdout } = await rig.cli('sources', 'show', 'shop', '--unused-for', '1s');
  expect(stdout).toMatch(/old +last used .* ago; safe to remove: not used for .* while current was/);
}, 90_000);
