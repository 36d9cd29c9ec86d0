import { expect, test } from '@jest/globals';
import { retryQuarantined } from '../src/quarantine.ts';
import { queued, readyAcceptor } from './support/acceptor.ts';
import { open, sign, sourceWith } from './support/quarantine.ts';

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
  expect(audit).toHaveLength(1);
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

test('a request that is repeated byte for byte is one entry, as it first came', async () => {
  const rig = await open();
  const [first] = await rig.kept('{"id":"e1"}');
  rig.refuse('{"id":"e1"}');
  rig.refuse('{"id":"e1"}', undefined, 'Content-Type', 'text/plain');
  await rig.kept('{"id":"e2"}');
  const entries = await rig.list();
  expect(entries).toHaveLength(3);
  expect(entries.find(({ id }) => id === first!.id)).toEqual(first);

  const each = sourceWith('wrong', { dedupe: 'none', replayKey: 'none' });
  rig.refuse('{"id":"e1"}', each);
  rig.refuse('{"id":"e1"}', each);
  await rig.kept('{"id":"e3"}');
  expect(await rig.list()).toHaveLength(6);
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
