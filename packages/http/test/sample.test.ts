import { expect, test } from '@jest/globals';
import type { HttpResponse } from '../src/outcome.ts';
import { SAMPLE_READ_BYTES, sampleOf } from '../src/sample.ts';

const SECRET = 'whsec_0123456789abcdef0123456789abcdef';

function response(body: string | Buffer, rest: Partial<HttpResponse> = {}): HttpResponse {
  return {
    kind: 'response',
    status: 500,
    headers: {},
    body: Buffer.from(body as string),
    truncated: false,
    durationMs: 1,
    ...rest,
  };
}

test('a short body is kept whole, with its content type', () => {
  const sample = sampleOf(response('{"ok":false}', { headers: { 'content-type': 'application/json' } }), []);
  expect(sample).toEqual({ contentType: 'application/json', text: '{"ok":false}', truncated: false });
});

test('a sample is at most 1 KiB and never ends inside a character', () => {
  const sample = sampleOf(response(`x${'ü'.repeat(600)}`), []);
  expect(sample.text).toBe(`x${'ü'.repeat(511)}`);
  expect(sample.truncated).toBe(true);
  expect(sampleOf(response(`${'y'.repeat(1_022)}😀`), []).text).toBe('y'.repeat(1_022));
});

test('a body of exactly 1 KiB is not called truncated', () => {
  expect(sampleOf(response('z'.repeat(1_024)), [])).toEqual({
    contentType: '',
    text: 'z'.repeat(1_024),
    truncated: false,
  });
});

test('invalid bytes become replacement characters', () => {
  expect(sampleOf(response(Buffer.from([0x61, 0xff, 0x62])), []).text).toBe('a\uFFFDb');
});

test('a character that the end of a truncated body cuts apart is left out', () => {
  expect(sampleOf(response(Buffer.from([0x61, 0xe2, 0x82]), { truncated: true }), []).text).toBe('a');
});

test('every echo of a secret is masked, in the content type too', () => {
  const sample = sampleOf(
    response(`got ${SECRET} and ${SECRET}`, { headers: { 'content-type': `a/${SECRET}` } }),
    ['', SECRET],
  );
  expect(sample.text).toBe('got [redacted] and [redacted]');
  expect(sample.contentType).toBe('a/[redacted]');
});

test('a secret that contains another is masked whole', () => {
  expect(sampleOf(response(SECRET), [SECRET.slice(0, 12), SECRET]).text).toBe('[redacted]');
});

test('no part of a secret that straddles the end of the sample is kept', () => {
  for (let before = 1_024 - SECRET.length; before <= 1_024; before += 1) {
    const body = Buffer.from(`${'.'.repeat(before)}${SECRET}${'.'.repeat(2_000)}`).subarray(
      0,
      SAMPLE_READ_BYTES,
    );
    expect(sampleOf(response(body, { truncated: true }), [SECRET]).text).not.toContain('whsec_');
  }
});

test('a secret of which only the beginning was read is masked', () => {
  expect(sampleOf(response(`key ${SECRET.slice(0, 20)}`, { truncated: true }), [SECRET]).text).toBe(
    'key [redacted]',
  );
});

test('a long content type is cut', () => {
  expect(
    sampleOf(response('', { headers: { 'content-type': 'x'.repeat(5_000) } }), []).contentType,
  ).toHaveLength(100);
});
