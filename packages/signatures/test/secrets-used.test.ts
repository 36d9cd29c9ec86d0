import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import { createVerifier, secretsUsed } from '../src/verify.ts';

const BODY = '{"id":"1"}';
const mac = (secret: string, text = BODY): string => createHmac('sha256', secret).update(text).digest('hex');

function used(auth: unknown, headers: Record<string, string>, changes: object = {}, body = BODY) {
  const verify = createVerifier(
    Source.parse({
      secrets: [
        { id: 'old', value: 'one' },
        { id: 'current', value: 'two' },
      ],
      auth,
      eventId: { pointer: '/id' },
      ...changes,
    }),
  );
  const verdict = verify({
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    body: Buffer.from(body),
    nowMs: 0,
    method: 'POST',
    query: '',
  });
  return verdict.ok ? secretsUsed(verdict) : verdict.code;
}
const signature = (header: string, more: object = {}) => ({
  kind: 'signature',
  algorithm: 'hmac-sha256',
  signature: { header, encoding: 'hex', ...more },
});

test('a provider in the middle of a rotation uses every secret that it signs with, so that none looks unused', () => {
  const auth = signature('x-signature', { list: { separator: ',' } });
  expect(used(auth, { 'x-signature': mac('two') })).toEqual(['current']);
  expect(used(auth, { 'x-signature': `${mac('two')},${mac('one')}` })).toEqual(['old', 'current']);
});

test('each check of a request uses its own secret', () => {
  const auth = [
    { ...signature('x-one'), secrets: ['old'] },
    { ...signature('x-two'), secrets: ['current'] },
  ];
  expect(used(auth, { 'x-one': mac('one'), 'x-two': mac('two') })).toEqual(['old', 'current']);
  expect(used(auth, { 'x-one': mac('one'), 'x-two': mac('one') })).toBe('signature_invalid');
});
