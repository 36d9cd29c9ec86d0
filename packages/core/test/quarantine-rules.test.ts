import { describe, expect, test } from '@jest/globals';
import { keptRequest } from '@breakwater/signatures/kept-request';
import { retryQuarantined } from '../src/quarantine.ts';
import { openAcceptor, queued, readyAcceptor, untilReady } from './support/acceptor.ts';
import { open, requestOf, sourceWith } from './support/quarantine.ts';

async function withEntry(body: string) {
  const rig = await open();
  const [entry] = await rig.kept(body);
  const by = { actor: 'test', reason: '' };
  return { ...rig, entry: entry!, doors: { redis: rig.redis, keys: rig.keys, by } };
}

describe('a retry', () => {
  test('lets a challenge go, and makes no event of it', async () => {
    const { entry, doors, prefix, redis, list } = await withEntry('{"id":"e1","type":"challenge"}');
    const source = sourceWith('right', {
      challenges: [
        {
          when: { pointer: { at: '/type', equals: 'challenge' } },
          verified: true,
          echo: { pointer: '/id' },
        },
      ],
    });
    const acceptor = await readyAcceptor({ prefix });
    expect(await retryQuarantined(entry, source, { ...doors, acceptor })).toEqual({ kind: 'handshake' });
    expect([await queued(redis, prefix), await list()]).toEqual([[], []]);
  });

  test('takes no events by a method that brings none', async () => {
    const { entry, doors, prefix, redis, list } = await withEntry('{"id":"e1"}');
    const acceptor = await readyAcceptor({ prefix });
    const result = await retryQuarantined({ ...entry, method: 'PUT' }, sourceWith('right'), {
      ...doors,
      acceptor,
    });
    expect(result).toMatchObject({ kind: 'refused', code: 'request_invalid' });
    expect([await queued(redis, prefix), (await list()).length]).toEqual([[], 1]);
  });

  test('that Redis cannot take leaves the entry where it is', async () => {
    const { entry, doors, list, prefix } = await withEntry('{"id":"e1"}');
    const acceptor = openAcceptor({ prefix }); // not connected yet
    expect(await retryQuarantined(entry, sourceWith('right'), { ...doors, acceptor })).toMatchObject({
      kind: 'unavailable',
    });
    expect(await list()).toHaveLength(1);
    await untilReady(acceptor); // or it could not be closed
  });
});

test('a burst of refusals costs Redis four writes at a time, and those whose sender knows a secret have four of their own', async () => {
  const { quarantine, refuse, list, kept } = await open();
  await kept('{"id":"first"}');
  for (let index = 0; index < 200; index += 1) refuse(`{"id":"forged-${index}"}`);
  for (let index = 0; index < 200; index += 1)
    quarantine.keep({
      name: 'shop',
      source: sourceWith('right'),
      request: requestOf(`{"no":"id-${index}"}`),
      code: 'event_id_missing',
      message: 'There is none.',
    });
  await quarantine.close(); // after what is under way
  const codes = (await list()).map(({ code }) => code);
  expect(codes.filter((code) => code === 'event_id_missing')).toHaveLength(4);
  const forged = codes.filter((code) => code === 'signature_invalid').length - 1;
  expect(forged).toBeGreaterThan(0); // fewer than four when the first was still being repeated
  expect(forged).toBeLessThanOrEqual(4);
});

describe('of a refused request', () => {
  test('credentials are not kept even where the source reads them', () => {
    const source = sourceWith('right', { entity: { header: 'cookie' }, type: { header: 'x-type' } });
    const request = requestOf('{}', 'Cookie', 'session=secret', 'X-Type', 'order');
    expect(Object.keys(keptRequest(source, request)?.headers ?? {})).toEqual(['x-signature', 'x-type']);
  });

  test('the query is kept only where a check reads it', () => {
    const request = { ...requestOf('{}'), query: 'token=secret' };
    expect(keptRequest(sourceWith('right'), request)?.query).toBe('');
    const reading = sourceWith('right', {
      request: { publicUrl: 'https://hooks.example.com/shop' },
      auth: {
        kind: 'signature',
        algorithm: 'hmac-sha256',
        signature: { header: 'x-signature', encoding: 'hex' },
        signed: [{ url: 'requested' }, 'body'],
      },
    });
    expect(keptRequest(reading, request)?.query).toBe('token=secret');
  });

  test('nothing is kept where the bytes were compressed', () => {
    const source = sourceWith('right');
    expect(keptRequest(source, requestOf('{}', 'Content-Encoding', 'gzip'))).toBeUndefined();
    expect(keptRequest(source, { ...requestOf('{}'), decoded: Buffer.from('{}') })).toBeUndefined();
  });
});
