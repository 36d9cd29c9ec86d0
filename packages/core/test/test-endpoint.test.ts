import { expect, test } from '@jest/globals';
import { createHttpClient } from '@breakwater/http/client';
import { createEgressGuard } from '@breakwater/http/egress';
import { Webhook } from 'standardwebhooks';
import { testEndpoint } from '../src/test-endpoint.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { afterwards } from './support/acceptor.ts';
import { API_KEY, CONFIG, NEW_KEY, openEndpoints, startReceiver } from './support/endpoints.ts';

type Work = ReturnType<typeof openEndpoints>;
function run(work: Work, id: string, more: { operator?: string; egress?: typeof CONFIG.egress } = {}) {
  const client = createHttpClient({ guard: createEgressGuard(more.egress ?? CONFIG.egress) });
  afterwards(() => client.close());
  return testEndpoint({ ...work, client }, { operator: more.operator ?? 'default', id, actor: 'tester' });
}

/** Every key but those that BullMQ makes when its queues are opened. */
const records = async (work: Work): Promise<string[]> =>
  (await work.redis.keys(`${work.keys.prefix}*`)).filter((key) => !key.endsWith(':meta')).toSorted();

test.each(['envelope', 'raw'] as const)(
  'a test is a request as deliveries are made, signed and with the headers, and leaves nothing but an audit entry (%s)',
  async (body) => {
    const receiver = await startReceiver(() => ({ status: 204 }));
    const work = openEndpoints();
    const { endpoint, secret } = await work.add({ url: receiver.url, body });
    const before = await records(work);
    const result = await run(work, endpoint.id);
    expect(result).toMatchObject({ ok: true, class: 'sent', code: '204', remedy: '' });
    const [seen] = receiver.seen;
    expect(seen!.headers).toMatchObject({
      'webhook-id': result.testId,
      'x-api-key': API_KEY,
      'breakwater-test': 'true',
      'content-type': 'application/json',
    });
    new Webhook(secret).verify(seen!.body, seen!.headers as Record<string, string>);
    const sent = JSON.parse(seen!.body.toString());
    const data = { test: true };
    expect(sent).toMatchObject(body === 'raw' ? data : { id: result.testId, type: 'breakwater.test', data });
    expect(await records(work)).toEqual(before);
    expect((await work.audit()).at(-1)).toMatchObject({
      action: 'endpoint.test',
      destination: endpoint.id,
      code: '204',
    });
  },
);

test('a test that fails says class, remedy and what was answered, secrets masked', async () => {
  const receiver = await startReceiver(({ headers }) => ({
    status: 403,
    body: `no ${String(headers['x-api-key'])}`,
  }));
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url });
  expect(await run(work, endpoint.id)).toMatchObject({
    ok: false,
    class: 'http_auth',
    code: '403',
    remedy: expect.stringContaining('do not match'),
    sample: { text: 'no [redacted]' },
  });
});

test('410 and a closed port are told as they are of a delivery', async () => {
  const receiver = await startReceiver(() => ({ status: 410 }));
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url });
  expect(await run(work, endpoint.id)).toMatchObject({ ok: false, class: 'http_gone', code: '410' });
  const { endpoint: closed } = await work.add({ url: `http://127.0.0.1:${await freePort()}/` });
  expect(await run(work, closed.id)).toMatchObject({
    class: 'connection_refused',
    code: 'ECONNREFUSED',
    sample: null,
  });
});

test('the guard of deliveries is the guard of tests: an address that is not allowed any more gets no byte', async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url });
  expect(
    await run(work, endpoint.id, { egress: { ...CONFIG.egress, allowHttp: true, allow: [] } }),
  ).toMatchObject({
    class: 'blocked_address',
  });
  expect(receiver.seen).toHaveLength(0);
});

test("nobody tests another operator's endpoint, and a key that is missing is told by name", async () => {
  const receiver = await startReceiver();
  const work = openEndpoints();
  const { endpoint } = await work.add({ url: receiver.url });
  await expect(run(work, endpoint.id, { operator: 'other' })).rejects.toMatchObject({ code: 'not_found' });
  await expect(run({ ...work, ...work.under(NEW_KEY) }, endpoint.id)).rejects.toMatchObject({
    code: 'encryption_keys_missing',
  });
  expect(receiver.seen).toHaveLength(0);
});
