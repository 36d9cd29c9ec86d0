import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { headerLines, type SignedRequest } from '../src/headers.ts';
import { createVerifier, type Verdict } from '../src/verify.ts';
import { authWith, hexSignature, hmacOf, requestOf, SECRET, sourceWith } from './support.ts';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const BODY = '{"id":"evt_1","time":"2026-01-02T03:04:05Z"}';

const outcome = (verdict: Verdict): string => (verdict.ok ? `ok by ${verdict.secretId}` : verdict.code);
const judge = (settings: Record<string, unknown>, request: SignedRequest, nowMs = NOW_MS): string =>
  outcome(createVerifier(sourceWith(settings))({ ...request, nowMs }));

describe('a secret with a window', () => {
  const settings = {
    secrets: [
      { id: 'old', value: 'old', notAfter: '2026-01-02T00:00:00Z' },
      { id: 'new', value: 'new', notBefore: '2026-01-01T00:00:00Z' },
    ],
  };
  const signed = (secret: string) => requestOf(BODY, ['x-signature', hexSignature(BODY, secret)]);

  test.each([
    ['before the rotation', '2025-12-31T23:59:59Z', 'ok by old', 'signature_invalid'],
    ['while both count', '2026-01-01T00:00:00Z', 'ok by old', 'ok by new'],
    ['after the end of the old one', '2026-01-02T00:00:00Z', 'signature_invalid', 'ok by new'],
  ])('counts in it only: %s', (_, at, old, fresh) => {
    expect(judge(settings, signed('old'), Date.parse(at))).toBe(old);
    expect(judge(settings, signed('new'), Date.parse(at))).toBe(fresh);
  });

  test('is our own trouble when none is in force, which a provider must not take for a refusal', () => {
    const [old] = settings.secrets;
    expect(judge({ secrets: [old] }, signed('old'))).toBe('unavailable');
  });
});

describe('a list of signatures', () => {
  const list = { separator: ',', keyValue: '=', pick: 'v1' };
  const auth = authWith({
    signature: { header: 'x-signature', list, encoding: 'hex' },
    timestamp: { field: 't' },
    signed: ['timestamp', { literal: '.' }, 'body'],
  });
  const seconds = NOW_MS / 1_000;
  const right = hmacOf(`${seconds}.${BODY}`).toString('hex');
  const wrong = 'ab'.repeat(32);
  const judged = (header: string): string => judge({ auth }, requestOf(BODY, ['x-signature', header]));

  test.each([
    ['one', `t=${seconds},v1=${right}`, 'ok by first'],
    ['several, one of them right', `t=${seconds},v1=${wrong},v1=${right}`, 'ok by first'],
    ['another kind beside it', `t=${seconds},v0=junk,v1=${right},new`, 'ok by first'],
    ['only another kind', `t=${seconds},v0=${right}`, 'signature_invalid'],
    ['two times', `t=${seconds},t=${seconds},v1=${right}`, 'signature_invalid'],
    ['no time', `v1=${right}`, 'signature_missing'],
    ['an empty time', `t=,v1=${right}`, 'signature_invalid'],
    ['spaces, which nobody signed up for', `t=${seconds}, v1=${right}`, 'signature_invalid'],
    ['eleven signatures', `t=${seconds},${`v1=${wrong},`.repeat(10)}v1=${right}`, 'signature_invalid'],
    ['ten signatures', `t=${seconds},${`v1=${wrong},`.repeat(9)}v1=${right}`, 'ok by first'],
    ['thousands of entries', `t=${seconds},${'a=b,'.repeat(4_000)}v1=${right}`, 'signature_invalid'],
    ['nothing', ',,,,', 'signature_invalid'],
  ])('with %s has the verdict it deserves', (_, header, expected) => {
    expect(judged(header)).toBe(expected);
  });

  test('whose entries name their key is compared with that key alone', () => {
    const keyed = authWith({
      signature: { header: 'x-signature', list: { separator: ',', keyValue: ':' }, encoding: 'hex' },
      keyId: 'list',
    });
    const secrets = [
      { id: 'a', value: 'one', keyId: 'k1' },
      { id: 'b', value: 'two', keyId: 'k2' },
    ];
    const of = (secret: string): string => hmacOf(BODY, secret).toString('hex');
    const judgeKeyed = (header: string): string =>
      judge({ auth: keyed, secrets }, requestOf(BODY, ['x-signature', header]));
    expect(judgeKeyed(`k1:${of('two')},k2:${of('two')}`)).toBe('ok by b');
    expect(judgeKeyed(`k1:${of('two')},k2:${of('one')}`)).toBe('signature_invalid');
    expect(judgeKeyed(`k3:${of('one')}`)).toBe('signature_invalid');
  });
});

describe('signatures elsewhere', () => {
  test('in numbered headers: any may match, and none may come twice', () => {
    const auth = authWith({ signature: { headerPattern: 'X-Sig-*', encoding: 'hex' } });
    const right = hmacOf(BODY).toString('hex');
    expect(judge({ auth }, requestOf(BODY, ['x-sig-1', 'ab'.repeat(32)], ['x-sig-2', right]))).toBe(
      'ok by first',
    );
    expect(judge({ auth }, requestOf(BODY, ['x-sig-1', right], ['x-sig-1', right]))).toBe(
      'signature_invalid',
    );
    expect(judge({ auth }, requestOf(BODY, ['x-sig-algorithm', right]))).toBe('signature_missing');
  });

  test('in a field of the form, over the field that holds the document', () => {
    const settings = {
      auth: authWith({ signature: { form: 'sig', encoding: 'hex' }, signed: [{ form: 'payload' }] }),
      parse: { format: 'form', formField: 'payload' },
    };
    const sig = hmacOf(BODY).toString('hex');
    const payload = encodeURIComponent(BODY);
    expect(judge(settings, requestOf(`payload=${payload}&sig=${sig}`))).toBe('ok by first');
    expect(judge(settings, requestOf(`payload=${payload}x&sig=${sig}`))).toBe('signature_invalid');
    expect(judge(settings, requestOf(`payload=${payload}&payload=${payload}&sig=${sig}`))).toBe(
      'signature_invalid',
    );
    expect(judge(settings, requestOf(`payload=${payload}&sig=${sig}&sig=${sig}`))).toBe('signature_invalid');
    expect(judge(settings, requestOf(`payload=${payload}`))).toBe('signature_missing');
    // What else is in the form is not signed, so it can be no part of an id.
    expect(sourceWith(settings).eventIdSigned).toBe(true);
    expect(sourceWith({ ...settings, eventId: { sha256: ['body'] } }).eventIdSigned).toBe(false);
    expect(() => sourceWith({ ...settings, parse: { format: 'form' } })).toThrow(/signed must contain body/);
  });

  test('a key that a header names is the only one tried', () => {
    const auth = authWith({ keyId: { header: 'x-key' } });
    const secrets = [
      { id: 'a', value: 'one' },
      { id: 'b', value: 'two' },
    ];
    const signed = (key: [string, string][]) =>
      requestOf(BODY, ['x-signature', hexSignature(BODY, 'two')], ...key);
    expect(judge({ auth, secrets }, signed([['x-key', 'b']]))).toBe('ok by b');
    expect(judge({ auth, secrets }, signed([['x-key', 'a']]))).toBe('signature_invalid');
    expect(judge({ auth, secrets }, signed([]))).toBe('signature_missing');
    expect(
      judge(
        { auth, secrets },
        signed([
          ['x-key', 'b'],
          ['x-key', 'b'],
        ]),
      ),
    ).toBe('signature_invalid');
  });
});

describe('a time', () => {
  test('may be in the signed body, and as ISO 8601 with a zone', () => {
    const auth = authWith({
      timestamp: { pointer: '/time', unit: 'iso', tolerance: '60s', futureTolerance: '5s' },
    });
    const at = (time: string): string => {
      const body = JSON.stringify({ id: '1', time });
      return judge({ auth }, requestOf(body, ['x-signature', hexSignature(body)]));
    };
    expect(at('2026-01-02T03:03:06Z')).toBe('ok by first');
    expect(at('2026-01-02T04:04:05.123+01:00')).toBe('ok by first');
    for (const wrong of [
      '2026-01-02T03:03:04Z',
      '2026-01-02T03:04:11Z',
      '2026-01-02T03:04:05',
      '2026-01-02',
      'now',
      '2026-99-02T03:04:05Z',
    ])
      expect(at(wrong)).toBe('timestamp_out_of_tolerance');
    const none = '{"id":"1"}';
    expect(judge({ auth }, requestOf(none, ['x-signature', hexSignature(none)]))).toBe('signature_missing');
  });

  test('that is in the body twice is refused, not chosen', () => {
    const auth = authWith({ timestamp: { pointer: '/time', unit: 'iso' } });
    const body = '{"id":"1","time":"2026-01-02T03:04:05Z","time":"2026-01-02T03:04:05Z"}';
    expect(judge({ auth }, requestOf(body, ['x-signature', hexSignature(body)]))).toBe('signature_invalid');
  });
});

describe('parts of the signed content', () => {
  const url = 'https://hooks.example.com:8443/in';
  test.each<[string, unknown[], string, Record<string, unknown>]>([
    ['the body in base64', [{ body: 'base64' }], Buffer.from(BODY).toString('base64'), {}],
    [
      'the hash of the body',
      ['method', { literal: '\n' }, { body: 'sha256hex' }],
      `PUT\n${createHash('sha256').update(BODY).digest('hex')}`,
      { request: { methods: ['PUT'] } },
    ],
    ['a configured value', [{ config: 'hook' }, 'body'], `7${BODY}`, { values: { hook: '7' } }],
    ['a value of the body', [{ pointer: '/id' }, 'body'], `evt_1${BODY}`, {}],
    ['a value that may be absent', [{ pointer: '/none', or: '-' }, 'body'], `-${BODY}`, {}],
    ['the URL as configured', [{ url: 'configured' }, 'body'], url + BODY, { request: { publicUrl: url } }],
    [
      'the URL with its query',
      [{ url: 'requested' }, 'body'],
      `${url}?a=1&a=%20${BODY}`,
      { request: { publicUrl: url } },
    ],
    [
      'the URL with a port that it has already',
      [{ url: 'requestedWithPort' }, 'body'],
      `${url}?a=1&a=%20${BODY}`,
      { request: { publicUrl: url } },
    ],
  ])('can be %s', (_, signed, content, settings) => {
    const auth = authWith({ signed });
    const request = {
      ...requestOf(BODY, ['x-signature', hexSignature(content)]),
      method: 'PUT',
      query: 'a=1&a=%20',
    };
    expect(judge({ auth, ...settings }, request)).toBe('ok by first');
    const other = { ...request, headers: headerLines(['x-signature', hexSignature(`${content} `)]) };
    expect(judge({ auth, ...settings }, other)).toBe('signature_invalid');
  });

  test('are joined by the configured text, and dollar signs in a body mean nothing', () => {
    const body = '{"price":"$$5 $& $` $\'","id":"1"}';
    const auth = authWith({ join: '|', signed: [{ header: 'x-id' }, 'body'] });
    expect(
      judge({ auth }, requestOf(body, ['x-id', '$&'], ['x-signature', hexSignature(`$&|${body}`)])),
    ).toBe('ok by first');
  });

  test('a forged Host changes nothing: the URL is configuration', () => {
    const auth = authWith({ signed: [{ url: 'configured' }, 'body'] });
    const request = requestOf(
      BODY,
      ['host', 'evil.example'],
      ['x-forwarded-host', 'evil.example'],
      ['x-signature', hexSignature(`https://evil.example/in${BODY}`)],
    );
    expect(judge({ auth, request: { publicUrl: url } }, request)).toBe('signature_invalid');
  });
});

describe('a shared secret', () => {
  const settings = (place: object) => ({
    auth: { kind: 'sharedSecret', ...place },
    replayKey: 'none',
    secrets: [{ id: 'first', value: 'user:pass word' }],
  });
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

  test.each<[string, object, [string, string][], string, string]>([
    ['header', { in: 'header', name: 'X-Token' }, [['x-token', 'user:pass word']], '', 'ok by first'],
    [
      'header that is wrong',
      { in: 'header', name: 'X-Token' },
      [['x-token', 'user:pass wor']],
      '',
      'signature_invalid',
    ],
    [
      'header that comes twice',
      { in: 'header', name: 'X-Token' },
      [
        ['x-token', 'user:pass word'],
        ['x-token', 'user:pass word'],
      ],
      '',
      'signature_invalid',
    ],
    ['basic', { in: 'basic' }, [['authorization', basic('user:pass word')]], '', 'ok by first'],
    ['basic that is no base64', { in: 'basic' }, [['authorization', 'Basic !!!!']], '', 'signature_missing'],
    [
      'basic of another user',
      { in: 'basic' },
      [['authorization', basic('eve:pass word')]],
      '',
      'signature_invalid',
    ],
    [
      'bearer under basic',
      { in: 'bearer' },
      [['authorization', basic('user:pass word')]],
      '',
      'signature_missing',
    ],
    ['query', { in: 'query', name: 'token' }, [], 'token=user%3Apass+word', 'ok by first'],
    [
      'query that comes twice',
      { in: 'query', name: 'token' },
      [],
      'token=user%3Apass+word&token=',
      'signature_invalid',
    ],
    ['query that is absent', { in: 'query', name: 'token' }, [], 'tok=1', 'signature_missing'],
  ])('in %s has the verdict it deserves', (_, place, headers, query, expected) => {
    expect(judge(settings(place), { ...requestOf(BODY, ...headers), query })).toBe(expected);
  });
});

describe('several checks', () => {
  const both = [authWith({ secrets: ['first'] }), { kind: 'sharedSecret', in: 'bearer', secrets: ['token'] }];
  const secrets = [
    { id: 'first', value: 'S' },
    { id: 'token', value: 'T' },
  ];
  const signature: [string, string] = ['x-signature', hexSignature(BODY, 'S')];
  const token: [string, string] = ['authorization', 'Bearer T'];

  test('must all pass', () => {
    const settings = { auth: both, secrets };
    expect(judge(settings, requestOf(BODY, signature, token))).toMatch(/^ok/);
    expect(judge(settings, requestOf(BODY, signature))).toBe('signature_missing');
    expect(judge(settings, requestOf(BODY, token))).toBe('signature_missing');
    // A secret of one check is none of another.
    expect(judge(settings, requestOf(BODY, signature, ['authorization', 'Bearer S']))).toBe(
      'signature_invalid',
    );
  });

  test('where the source says any: one is enough, and none is not', () => {
    const settings = { auth: both, secrets, authMode: 'any', replayKey: 'body' };
    expect(judge(settings, requestOf(BODY, signature))).toBe('ok by first');
    expect(judge(settings, requestOf(BODY, token))).toBe('ok by token');
    expect(judge(settings, requestOf(BODY))).toBe('signature_missing');
    expect(judge(settings, requestOf(BODY, ['x-signature', hexSignature('other')]))).toBe(
      'signature_invalid',
    );
  });

  test('a hash of the body in the signed query stands for the body', () => {
    const url = 'https://h.example/in';
    const when = { query: 'h', present: true };
    const settings = {
      request: { publicUrl: url },
      auth: [
        authWith({ when, signed: [{ url: 'requested' }] }),
        authWith({ when: { ...when, present: false } }),
        { kind: 'queryEquals', name: 'h', to: { body: 'sha256hex' }, when },
      ],
    };
    const query = `h=${createHash('sha256').update(BODY).digest('hex')}`;
    const headers: [string, string][] = [['x-signature', hexSignature(`${url}?${query}`)]];
    expect(judge(settings, { ...requestOf(BODY, ...headers), query })).toBe('ok by first');
    expect(judge(settings, { ...requestOf(`${BODY} `, ...headers), query })).toBe('signature_invalid');
    expect(judge(settings, { ...requestOf(BODY, ...headers), query: '' })).toBe('signature_invalid');
    expect(judge(settings, { ...requestOf(BODY, ...headers), query: `${query}&h=0` })).toBe(
      'signature_invalid',
    );
  });
});

describe('signatures of items', () => {
  const item = (id: string, signed = id): string =>
    JSON.stringify({ id, sig: createHmac('sha256', SECRET).update(signed).digest('base64') });
  const settings = {
    auth: authWith({ signature: { pointer: '/sig', encoding: 'base64' }, signed: [{ pointer: '/id' }] }),
    batch: { pointer: '/items', signature: 'perItem', max: 3 },
  };

  test.each([
    ['all signed', [item('1'), item('2')], 'ok by first'],
    ['one that is not', [item('1'), '{"id":"2"}'], 'signature_missing'],
    ['one signed for another', [item('1'), item('2', '3')], 'signature_invalid'],
    ['one whose id is there twice', [item('1').replace('{', '{"id":"9",')], 'signature_invalid'],
    ['none', [], 'signature_missing'],
    ['more than the source takes', ['1', '2', '3', '4'].map((id) => item(id)), 'signature_missing'],
  ])('must pass for each: %s', (_, items, expected) => {
    expect(judge(settings, requestOf(`{"items":[${items.join(',')}]}`))).toBe(expected);
  });

  test('need a list to be in', () => {
    for (const body of [
      '{}',
      '[]',
      '',
      '{"items":null}',
      '{"items":{"0":1}}',
      `{"items":[],"items":[${item('1')}]}`,
    ])
      expect(judge(settings, requestOf(body))).toBe('signature_missing');
  });
});
