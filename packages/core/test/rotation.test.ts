import { expect, test } from '@jest/globals';
import { readEndpoint } from '@breakwater/store/endpoints';
import { Webhook } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';
import { finishRotation, rotateSecret } from '../src/rotate-secret.ts';
import { openEndpoints, type Seen, startReceiver } from './support/endpoints.ts';

const change = (id: string) => ({ operator: 'default', id, actor: 'tester' });
const DAY_MS = 86_400_000;

/** Does the receiver's library accept the request with this secret? Both libraries must agree. */
function accepts(secret: string, { body, headers }: Seen): boolean {
  const given = headers as Record<string, string>;
  const verdicts = [Webhook, Svix].map((Library) => {
    try {
      new Library(secret).verify(body, given);
      return true;
    } catch {
      return false;
    }
  });
  expect(verdicts[0]).toBe(verdicts[1]);
  return verdicts[0]!;
}

test.each(['envelope', 'raw'] as const)(
  'during a rotation a receiver with either secret accepts, after it only one with the new (%s bodies)',
  async (body) => {
    const receiver = await startReceiver();
    const work = openEndpoints();
    const { endpoint, secret: former } = await work.add({ url: receiver.url, body });
    const send = async (): Promise<Seen> => {
      await work.attempt(await work.deliver(endpoint.id, '{"amount":1.10,"name":"Zoë"}'));
      return receiver.seen.at(-1)!;
    };
    const before = await send();
    expect(accepts(former, before)).toBe(true);
    const { secret } = await rotateSecret(work, change(endpoint.id), { overlapMs: DAY_MS });
    expect(accepts(secret, before)).toBe(false);
    const during = await send();
    expect([accepts(former, during), accepts(secret, during)]).toEqual([true, true]);
    expect(accepts(secret, { ...during, body: Buffer.from(`${during.body.toString()} `) })).toBe(false);

    // The overlap ends by the clock alone.
    const stored = (await readEndpoint(work.redis, work.keys, endpoint.id))!;
    stored.secrets[1]!.expiresAt = 1;
    await work.redis.hset(work.keys.endpoint(endpoint.id), 'record', JSON.stringify(stored));
    const after = await send();
    expect([accepts(former, after), accepts(secret, after)]).toEqual([false, true]);
    expect(receiver.seen).toHaveLength(3);
  },
);

test('a rotation can be finished early, and finishing again does nothing', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint, secret: former } = await work.add({ url: receiver.url });
  const { secret } = await rotateSecret(work, change(endpoint.id), { overlapMs: DAY_MS });
  expect((await finishRotation(work, change(endpoint.id))).changed).toBe(true);
  expect((await finishRotation(work, change(endpoint.id))).changed).toBe(false);
  await work.attempt(await work.deliver(endpoint.id));
  expect([accepts(former, receiver.seen[0]!), accepts(secret, receiver.seen[0]!)]).toEqual([false, true]);
  expect((await work.audit()).map(({ action }) => action)).toEqual([
    'endpoint.add',
    'endpoint.rotate-secret',
    'endpoint.finish-rotation',
  ]);
});

test('no second rotation begins while receivers may still hold the first secret, unless it ends everything old', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const rotate = (overlapMs: number) => rotateSecret(work, change(endpoint.id), { overlapMs });
  await rotate(DAY_MS);
  await expect(rotate(DAY_MS)).rejects.toMatchObject({ code: 'rotation_open' });
  const { endpoint: ended } = await rotate(0);
  expect(ended.secrets).toHaveLength(1);
  await expect(rotate(-1)).rejects.toMatchObject({ code: 'request_invalid' });
  await expect(rotate(31 * DAY_MS)).rejects.toMatchObject({ code: 'request_invalid' });
});

test('two rotations at the same time do not both succeed: a secret that was shown is one that signs', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const results = await Promise.allSettled(
    [1, 2, 3].map(() => rotateSecret(work, change(endpoint.id), { overlapMs: DAY_MS })),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('a secret of one’s own is checked, and the mistake does not repeat it', async () => {
  const work = openEndpoints();
  const { endpoint } = await work.add();
  const given = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const own = (secret: string) => rotateSecret(work, change(endpoint.id), { overlapMs: 0, secret });
  expect((await own(given)).secret).toBe(given);
  for (const wrong of ['whsec_short', 'x', `whsec_${Buffer.alloc(65).toString('base64')}`]) {
    const error = await own(wrong).catch((each: Error & { code: string }) => each);
    expect(error).toMatchObject({ code: 'request_invalid' });
    expect((error as Error).message).not.toContain(wrong === 'x' ? 'x,' : wrong);
  }
});
