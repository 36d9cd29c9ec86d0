import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PRESET_NAMES, PRESETS } from '@breakwater/contracts/presets/all';
import { handshakeOf } from '../src/handshake.ts';
import { locateEvents } from '../src/locate.ts';
import { createVerifier, type Verdict } from '../src/verify.ts';
import { NOW_MS, requestOf, SAMPLES, sourceOf } from './preset-samples.ts';

const outcome = (verdict: Verdict): string => (verdict.ok ? `ok by ${verdict.secretId}` : verdict.code);

describe.each(PRESET_NAMES)('%s', (preset) => {
  const sample = SAMPLES[preset];

  test('takes what the provider signs, and finds its events', () => {
    const source = sourceOf(preset);
    const request = requestOf(sample);
    expect(outcome(createVerifier(source)(request))).toBe('ok by current');
    const located = locateEvents(source, request);
    const events = located.ok ? located.events : [];
    expect(events.map(({ eventId }) => eventId)).toEqual(sample.ids);
    expect(events[0]?.type).toBe(sample.type);
    expect(events.some(({ parked }) => parked)).toBe(false);
  });

  test('has a page, which names what is unverified', () => {
    const page = readFileSync(join(import.meta.dirname, `../../../docs/providers/${preset}.md`), 'utf8');
    for (const section of ['Event id', 'Deadline and retries', 'Known quirks', 'Not covered'])
      expect(page).toContain(`## ${section}`);
    for (const fact of sourceOf(preset).unverified) expect(page).toContain(fact);
    expect(page.includes('## Unverified')).toBe(PRESETS[preset].unverified !== undefined);
  });
});

describe.each(PRESET_NAMES.filter((name) => SAMPLES[name].unsigned === undefined))('%s', (preset) => {
  const sample = SAMPLES[preset];

  test('refuses another body, another secret, no signature, and another time where it is signed', () => {
    const verify = createVerifier(sourceOf(preset));
    const unsigned = { ...requestOf(sample), headers: {} };
    const changed = preset === 'adyen' ? sample.body.replace('1000', '1001') : `${sample.body} `;
    expect(outcome(verify(requestOf(sample, { body: changed })))).toBe('signature_invalid');
    // Adyen's signature is in the body.
    expect(outcome(verify(unsigned))).toBe(preset === 'adyen' ? 'ok by current' : 'signature_missing');
    const hour = 3_600_000;
    for (const nowMs of [NOW_MS - hour, NOW_MS + (sample.timed === 'for days' ? 100 * hour : hour)]) {
      const expected = sample.timed ? 'timestamp_out_of_tolerance' : 'ok by current';
      expect(outcome(verify({ ...requestOf(sample), nowMs }))).toBe(expected);
    }
    // Other keys: vectors.test.ts, and below.
    if (sample.secret !== undefined && (!('keyId' in sample.secret) || preset === 'paypal')) return;
    const { keyId } = (sample.secret ?? {}) as { keyId?: string };
    const secrets = [{ id: 'current', value: 'wrong', ...(keyId && { keyId }) }];
    expect(outcome(createVerifier(sourceOf(preset, { secrets }))(requestOf(sample)))).toBe(
      'signature_invalid',
    );
  });
});

test('the token of GitLab is all that proves its sender', () => {
  const verify = createVerifier(sourceOf('gitlab'));
  const request = requestOf(SAMPLES.gitlab);
  expect(outcome(verify({ ...request, headers: { 'x-gitlab-token': ['wrong'] } }))).toBe('signature_invalid');
  expect(outcome(verify({ ...request, headers: {} }))).toBe('signature_missing');
});

test('the token in the URL of mollie-classic is all that proves its sender', () => {
  const verify = createVerifier(sourceOf('mollie-classic'));
  const request = requestOf(SAMPLES['mollie-classic']);
  expect(outcome(verify({ ...request, query: 'token=wrong' }))).toBe('signature_invalid');
  expect(outcome(verify({ ...request, query: '' }))).toBe('signature_missing');
});

test('a preset yields to what is written beside it, member by member where that makes sense', () => {
  const source = sourceOf('stripe', { eventId: { pointer: '/account' }, maxBodyBytes: 5 });
  expect(source).toMatchObject({
    eventId: [{ pointer: '/account' }],
    maxBodyBytes: 5,
    type: [{ pointer: '/type' }],
  });
  const xero = sourceOf('xero', { answers: { accepted: { status: 204 } }, batch: { max: 3 } });
  expect(xero.answers).toMatchObject({ accepted: { status: 204 }, signature: { status: 401, body: '' } });
  expect(xero.batch).toMatchObject({ pointer: '/events', max: 3, empty: 'ack' });
});

test('the same unsigned id of GitHub has a replay key, and its ping is no event', () => {
  expect(sourceOf('github')).toMatchObject({ eventIdSigned: false, replayKey: 'signature' });
  const request = { headers: { 'x-github-event': ['ping'] }, body: Buffer.from('{}') };
  expect(handshakeOf(sourceOf('github'), request, true)).toMatchObject({
    kind: 'answer',
    answer: { status: 200 },
  });
  expect(handshakeOf(sourceOf('github'), request, false)).toEqual({ kind: 'none' });
});

test('the ping of WooCommerce is answered unsigned, and nothing else is', () => {
  const source = sourceOf('woocommerce');
  const ask = (body: string) => handshakeOf(source, { headers: {}, body: Buffer.from(body) }, false).kind;
  expect(ask('webhook_id=2')).toBe('answer');
  for (const body of ['webhook_id=2&id=1', 'webhook_id=1&webhook_id=2', '{"webhook_id":2}', '']) {
    expect(ask(body)).toBe('none');
  }
});

test('the challenge of Meta is echoed for the agreed token only', () => {
  const source = sourceOf('meta');
  const ask = (query: string) =>
    handshakeOf(source, { method: 'GET', query, headers: {}, body: Buffer.alloc(0) }, false);
  expect(ask('hub.mode=subscribe&hub.challenge=42&hub.verify_token=agreed')).toMatchObject({
    kind: 'answer',
    answer: { status: 200, body: '42', contentType: 'text/plain; charset=utf-8' },
  });
  for (const query of [
    'hub.mode=subscribe&hub.challenge=42&hub.verify_token=guess',
    'hub.mode=subscribe&hub.challenge=42',
    'hub.mode=subscribe&hub.verify_token=agreed',
    'hub.mode=subscribe&hub.challenge=42&hub.verify_token=agreed&hub.verify_token=guess',
    `hub.mode=subscribe&hub.verify_token=agreed&hub.challenge=${'x'.repeat(1_025)}`,
  ]) {
    expect(ask(query)).toEqual({ kind: 'refused' });
  }
  expect(ask('hub.challenge=42').kind).toBe('none');
  expect(() => sourceOf('meta', { values: {} })).toThrow(/verifyToken/);
});

test('the challenge of Slack is echoed once its signature is verified', () => {
  const body = Buffer.from('{"type":"url_verification","challenge":"c1"}');
  expect(handshakeOf(sourceOf('slack'), { headers: {}, body }, true)).toMatchObject({
    answer: { body: 'c1' },
  });
  expect(handshakeOf(sourceOf('slack'), { headers: {}, body }, false).kind).toBe('none');
});
