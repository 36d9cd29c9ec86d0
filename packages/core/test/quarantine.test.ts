import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { Source } from '@breakwater/contracts/source-config';
import { headerLines } from '@breakwater/signatures/headers';
import { createKeyspace } from '@breakwater/store/keys';
import { listQuarantine } from '@breakwater/store/quarantine';
import { openQuarantine, retryQuarantined } from '../src/quarantine.ts';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { afterwards, connect, queued, readyAcceptor, silent } from './support/acceptor.ts';

const sourceWith = (secret: string, more: Record<string, unknown> = {}): Source =>
  Source.parse({
    secrets: [{ id: 'current', value: secret }],
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: { header: 'x-signature', encoding: 'hex' },
    },
    eventId: { pointer: '/id' },
    ...more,
  });
const sign = (body: string, secret = 'right'): string =>
  createHmac('sha256', secret).update(body).digest('hex');
const requestOf = (body: string, ...more: string[]) => ({
  headers: headerLines(['x-signature', sign(body), ...more]),
  body: Buffer.from(body),
  method: 'POST',
  query: '',
  nowMs: Date.now(),
});

async function open(notReady: () => readonly string[] = () => []) {
  const prefix = `t${newId()}`;
  const redis = connect();
  const keys = createKeyspace(prefix);
  const quarantine = openQuarantine({
    redisUrl: sharedRedisUrl(),
    keyPrefix: prefix,
    logger: silent,
    notReady,
  });
  afterwards(() => quarantine.close());
  const refuse = (body: string, source = sourceWith('wrong'), ...headers: string[]): void =>
    quarantine.keep({
      name: 'shop',
      source,
      request: requestOf(body, ...headers),
      code: 'signature_invalid',
      message: 'It does not match.',
    });
  const list = () => listQuarantine(redis, keys, 'shop');
  /** Asked until it is kept: the connection may not be up yet. */
  const kept = async (body: string, source?: Source, ...headers: string[]) => {
    await waitUntil(
      async () => {
        const [found] = (await list()).filter((entry) => entry.body.toString() === body);
        if (found === undefined) refuse(body, source, ...headers);
        return found !== undefined;
      },
      { what: 'the refusal to be kept' },
    );
    return list();
  };
  return { prefix, redis, keys, refuse, list, kept };
}

test('a request refused for a wrong secret is admitted once by retries, as it was received', async () => {
  const rig = await open();
  const body = '{"id":"e1","amount":1.10}';
  const [entry] = await rig.kept(body);
  const acceptor = await readyAcceptor({ prefix: rig.prefix });
  const doors = {
    acceptor,
    redis: rig.redis,
    keys: rig.keys,
    by: { actor: 'test', reason: 'secret corrected' },
  };
  expect(await retryQuarantined(entry!, sourceWith('wrong'), doors)).toMatchObject({ kind: 'refused' });
  expect(await rig.list()).not.toEqual([]);
  expect(await queued(rig.redis, rig.prefix)).toEqual([]);
  const twice = await Promise.all([1, 2].map(() => retryQuarantined(entry!, sourceWith('right'), doors)));
  const deduped = twice.flatMap((result) => (result.kind === 'accepted' ? result.events : []));
  expect(new Set(deduped.map((event) => event.deduped))).toEqual(new Set([false, true]));
  const [job, ...others] = await queued(rig.redis, rig.prefix);
  expect(others).toEqual([]);
  expect(job).toMatchObject({ eventId: 'e1', receivedAt: entry!.receivedAt, bytes: Buffer.from(body) });
  expect((await rig.list()).filter(({ id }) => id === entry!.id)).toEqual([]);
  const audit = await rig.redis.xrange(rig.keys.audit, '-', '+');
  expect(audit[0]?.[1]).toEqual(
    expect.arrayContaining(['quarantine.retry', 'test', 'secret corrected', entry!.id]),
  );
});

test('a retry that is repeated makes no second event where each delivery is an event of its own', async () => {
  const rig = await open();
  const source = sourceWith('right', { dedupe: 'none', replayKey: 'none' });
  const [entry] = await rig.kept('{"id":"e1"}');
  const acceptor = await readyAcceptor({ prefix: rig.prefix });
  const doors = { acceptor, redis: rig.redis, keys: rig.keys, by: { actor: 'test', reason: '' } };
  await retryQuarantined(entry!, source, doors);
  await retryQuarantined(entry!, source, doors);
  expect(await queued(rig.redis, rig.prefix)).toHaveLength(1);
});

test('a signed time is judged by the moment of receipt', async () => {
  const rig = await open();
  const [entry] = await rig.kept('{"id":"e1"}');
  const at = Math.floor((Date.now() - 86_400_000) / 1_000);
  const auth = {
    kind: 'signature',
    algorithm: 'hmac-sha256',
    signature: { header: 'x-signature', encoding: 'hex' },
    timestamp: { header: 'x-time' },
    signed: ['timestamp', 'body'],
  };
  const old = {
    ...entry!,
    receivedAt: at * 1_000,
    headers: { 'x-time': [String(at)], 'x-signature': [sign(`${at}{"id":"e1"}`)] },
  };
  const source = sourceWith('right', { auth });
  expect(await retryQuarantined(old, source, undefined)).toMatchObject({ kind: 'accepted' });
  const stale = { ...old, receivedAt: Date.now() };
  expect(await retryQuarantined(stale, source, undefined)).toMatchObject({
    code: 'timestamp_out_of_tolerance',
  });
});

test('credentials and headers that nobody reads are never kept', async () => {
  const rig = await open();
  const [entry] = await rig.kept(
    '{"id":"e1"}',
    undefined,
    'Authorization',
    'Bearer x',
    'Cookie',
    'a=b',
    'X-Other',
    '1',
    'Content-Type',
    'application/json',
  );
  expect(entry!.headers).toEqual({
    'x-signature': [sign('{"id":"e1"}')],
    'content-type': ['application/json'],
  });
});

test('noise is not kept: no signature header, shared secrets, large bodies, a Redis that takes no events', async () => {
  let reasons: string[] = [];
  const rig = await open(() => reasons);
  await rig.kept('{"id":"first"}');
  const elsewhere = sourceWith('x', {
    auth: { kind: 'signature', algorithm: 'hmac-sha256', signature: { header: 'x-hub', encoding: 'hex' } },
  });
  rig.refuse('{"id":"unsigned"}', elsewhere);
  rig.refuse(
    '{"id":"token"}',
    sourceWith('x', { auth: { kind: 'sharedSecret', in: 'header', name: 'x-signature' }, replayKey: 'body' }),
  );
  rig.refuse(`{"id":"${'x'.repeat(64 * 1024)}"}`);
  reasons = ['over memory'];
  rig.refuse('{"id":"overloaded"}');
  reasons = [];
  const bodies = (await rig.kept('{"id":"last"}')).map((entry) => entry.body.toString());
  expect(new Set(bodies)).toEqual(new Set(['{"id":"last"}', '{"id":"first"}']));
});

test('a flood leaves the newest hundred of a source, and every key expires', async () => {
  const rig = await open();
  for (let index = 0; index < 105; index += 1) {
    await rig.kept(`{"id":"e${index}"}`);
  }
  const entries = await rig.list();
  expect(entries).toHaveLength(100);
  expect(entries.some((entry) => entry.body.toString() === '{"id":"e104"}')).toBe(true);
  const names = await rig.redis.keys(`${rig.keys.prefix}quarantine*`);
  expect(names).toHaveLength(101);
  for (const name of names) expect(await rig.redis.pttl(name)).toBeGreaterThan(0);
});
