import { afterEach, expect, test } from '@jest/globals';
import type { SeenRequest } from '@breakwater/core/source-recorder';
import { call, deliver, type Rig, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

async function startWith(...[changes, options]: [object?, Parameters<typeof startIngest>[1]?]) {
  const seen: SeenRequest[] = [];
  const source = sourceWith({
    secrets: [
      { id: 'first', value: 'a secret for tests' },
      { id: 'second', value: 'another' },
    ],
    ...changes,
  });
  rig = await startIngest(
    { demo: source },
    { recorder: { saw: (request) => void seen.push(request) }, now: () => 5, ...options },
  );
  return { port: rig.port, seen };
}

test('of every verified request it is told which secret let it in', async () => {
  const { port, seen } = await startWith();
  await deliver(port, '{"id":"1"}');
  await deliver(port, '{"id":"2"}', { [SIGNATURE]: sign('{"id":"2"}', 'another') });
  expect(seen).toEqual([
    { source: 'demo', secrets: ['first'], accepted: true, at: 5 },
    { source: 'demo', secrets: ['second'], accepted: true, at: 5 },
  ]);
});

test('a stranger uses no secret, and is no sign of life of the source', async () => {
  const { port, seen } = await startWith();
  expect((await deliver(port, '{"id":"1"}', { [SIGNATURE]: sign('{"id":"1"}', 'guessed') })).status).toBe(
    401,
  );
  expect((await call(port, { body: '{"id":"1"}' })).status).toBe(401);
  expect((await call(port, { path: '/webhooks/nobody', body: '{}' })).status).toBe(404);
  expect(seen).toEqual([]);
});

test('a genuine request that ends without a new event is a use of the secret all the same', async () => {
  const { port, seen } = await startWith(undefined, {
    accept: async ({ eventId }) =>
      eventId === 'twice' ? { kind: 'duplicate', differs: false } : { kind: 'unavailable', message: 'down' },
  });
  expect((await deliver(port, '{"id":"twice"}')).status).toBe(200);
  expect((await deliver(port, '{"id":"down"}')).status).toBe(503);
  expect((await deliver(port, '{"no":"id"}')).status).toBe(400);
  expect(seen.map(({ secrets, accepted }) => [secrets, accepted])).toEqual([
    [['first'], false],
    [['first'], false],
    [['first'], false],
  ]);
});
