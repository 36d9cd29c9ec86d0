import { describe, expect, test } from '@jest/globals';
import type { SignedRequest } from '../src/headers.ts';
import { createVerifier, type Verdict } from '../src/verify.ts';
import { authWith, hexSignature, requestOf, sourceWith } from './support.ts';

const NOW_MS = 1_700_000_000_500;
const BODY = '{"id":"evt_1","amount":1.10}';

const verdictOf = (source: ReturnType<typeof sourceWith>, request: SignedRequest): Verdict =>
  createVerifier(source)({ ...request, nowMs: NOW_MS });
const codeOf = (verdict: Verdict): string => (verdict.ok ? `ok by ${verdict.secretId}` : verdict.code);

/** A request that was signed at `signedTime` and claims `time`. */
function at(time: string, signedTime = time): SignedRequest {
  return requestOf(BODY, ['x-time', time], ['x-signature', hexSignature(`${signedTime}.${BODY}`)]);
}

describe('a signed timestamp', () => {
  const auth = authWith({
    timestamp: { header: 'x-time', tolerance: '5m' },
    signed: ['timestamp', { literal: '.' }, 'body'],
  });
  const seconds = Math.floor(NOW_MS / 1_000);

  test.each([
    ['now', String(seconds), 'ok by first'],
    ['299 s old', String(seconds - 299), 'ok by first'],
    ['301 s old', String(seconds - 301), 'timestamp_out_of_tolerance'],
    ['299 s in the future', String(seconds + 299), 'ok by first'],
    ['301 s in the future', String(seconds + 301), 'timestamp_out_of_tolerance'],
    ['a word', 'abc', 'timestamp_out_of_tolerance'],
    ['NaN', 'NaN', 'timestamp_out_of_tolerance'],
    ['a number with junk behind it', `${seconds}junk`, 'timestamp_out_of_tolerance'],
    ['a fraction', `${seconds}.5`, 'timestamp_out_of_tolerance'],
    ['in exponent form', '1.7e9', 'timestamp_out_of_tolerance'],
    ['hexadecimal', '0x65000000', 'timestamp_out_of_tolerance'],
    ['signed with a plus', `+${seconds}`, 'timestamp_out_of_tolerance'],
    ['absurdly long', '9'.repeat(400), 'timestamp_out_of_tolerance'],
    ['milliseconds where seconds are meant', String(NOW_MS), 'timestamp_out_of_tolerance'],
  ])('that is %s has the verdict it deserves', (_, time, code) => {
    expect(codeOf(verdictOf(sourceWith({ auth }), at(time)))).toBe(code);
  });

  test('in milliseconds is read as such', () => {
    const inMs = authWith({
      timestamp: { header: 'x-time', unit: 'ms' },
      signed: ['timestamp', { literal: '.' }, 'body'],
    });
    expect(codeOf(verdictOf(sourceWith({ auth: inMs }), at(String(NOW_MS - 299_000))))).toBe('ok by first');
    expect(codeOf(verdictOf(sourceWith({ auth: inMs }), at(String(NOW_MS - 301_000))))).toBe(
      'timestamp_out_of_tolerance',
    );
  });

  test('that was changed after signing is an invalid signature', () => {
    expect(codeOf(verdictOf(sourceWith({ auth }), at(String(seconds), String(seconds - 3_600))))).toBe(
      'signature_invalid',
    );
  });

  test('that is missing or comes twice is refused', () => {
    const signature: [string, string] = ['x-signature', hexSignature(`${seconds}.${BODY}`)];
    const time: [string, string] = ['x-time', String(seconds)];
    expect(codeOf(verdictOf(sourceWith({ auth }), requestOf(BODY, signature)))).toBe('signature_missing');
    expect(codeOf(verdictOf(sourceWith({ auth }), requestOf(BODY, signature, time, time)))).toBe(
      'signature_invalid',
    );
  });

  test('is not told about to somebody who cannot sign', () => {
    expect(codeOf(verdictOf(sourceWith({ auth }), at('1', '2')))).toBe('signature_invalid');
  });
});
