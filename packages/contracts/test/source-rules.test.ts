import { expect, test } from '@jest/globals';
import { Source } from '../src/source-config.ts';

const signature = { header: 'x-sig', encoding: 'hex' };
const check = (changes: object = {}): object => ({
  kind: 'signature',
  algorithm: 'hmac-sha256',
  signature,
  ...changes,
});
const token = { kind: 'sharedSecret', in: 'bearer' };
const source = (changes: object = {}): object => ({
  secrets: [{ id: 'a', value: 'x' }],
  auth: check(),
  eventId: { pointer: '/id' },
  ...changes,
});

/** Every mistake, as `path: message`. */
function mistakes(changes: object): string {
  const result = Source.safeParse(source(changes));
  return result.success
    ? ''
    : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n');
}

test.each<[string, object, RegExp]>([
  ['no auth', { auth: undefined }, /auth: say how requests are verified, or name a preset/],
  ['no event id', { eventId: undefined }, /eventId: say where the event id is/],
  ['no secret', { secrets: [] }, /secrets: add at least one secret/],
  [
    'two secrets of one name',
    { secrets: [1, 2].map(() => ({ id: 'a', value: 'x' })) },
    /two secrets are called a/,
  ],
  [
    'more secrets than may be tried',
    { secrets: Array.from({ length: 11 }, (_, index) => ({ id: `s${index}`, value: 'x' })) },
    /at most 10 secrets/,
  ],
  [
    'a body that may be large and is hashed too often',
    {
      maxBodyBytes: 25 * 1024 * 1024,
      secrets: Array.from({ length: 10 }, (_, index) => ({ id: `s${index}`, value: 'x' })),
      auth: check({ signed: [['body'], ['body', { literal: 'a' }]] }),
    },
    /maxBodyBytes: a body would be hashed up to 20 times .* lower it to 13421772,/,
  ],
  [
    'a large body with many signatures by public keys',
    {
      maxBodyBytes: 25 * 1024 * 1024,
      auth: check({
        algorithm: 'ed25519',
        key: 'ed25519-base64',
        signature: { ...signature, list: { separator: ',' } },
        signed: [['body'], ['body', { literal: 'a' }]],
      }),
    },
    /maxBodyBytes: a body would be hashed up to 20 times/,
  ],
  [
    'a secret that a check names and nobody has',
    { auth: check({ secrets: ['b'] }) },
    /no secret is called b/,
  ],
  [
    'a secret whose window is empty',
    { secrets: [{ id: 'a', value: 'x', notBefore: '2026-02-01', notAfter: '2026-01-01' }] },
    /notBefore must be earlier than notAfter/,
  ],
  [
    'a signature that leaves the body open',
    { auth: check({ signed: [{ header: 'x' }] }) },
    /signed must contain body/,
  ],
  [
    'a variant that leaves the body open',
    { auth: check({ signed: [['body'], [{ header: 'x' }]] }) },
    /signed must contain body/,
  ],
  [
    'a timestamp that may be left out',
    { auth: check({ timestamp: { header: 't', required: false }, signed: ['timestamp', 'body'] }) },
    /a timestamp that may be left out protects nothing/,
  ],
  [
    'a timestamp in the signature that has no fields',
    { auth: check({ timestamp: { field: 't' }, signed: ['timestamp', 'body'] }) },
    /describe it with signature.list/,
  ],
  [
    'a timestamp that one variant does not sign',
    { auth: check({ timestamp: { header: 't' }, signed: [['timestamp', 'body'], ['body']] }) },
    /a timestamp that is not signed proves nothing/,
  ],
  [
    'a key that the algorithm does not take',
    { auth: check({ algorithm: 'ed25519' }) },
    /ed25519 takes ed25519-base64/,
  ],
  [
    'a plain hash without the secret',
    { auth: check({ algorithm: 'sha256-concat' }) },
    /secret is signed where/,
  ],
  ['an HMAC over its own secret', { auth: check({ signed: ['secret', 'body'] }) }, /secret is signed where/],
  ['a signature nowhere', { auth: check({ signature: { encoding: 'hex' } }) }, /exactly one of header/],
  [
    'a separator of two characters',
    { auth: check({ signature: { ...signature, list: { separator: ', ' } } }) },
    /expected one character/,
  ],
  ['an algorithm that does not exist', { auth: check({ algorithm: 'hmac-md5' }) }, /algorithm.*hmac-sha1/],
  ['a misspelt setting', { auth: check({ algoritm: 'x' }) }, /algoritm/],
  [
    'a config value that is not there',
    { auth: check({ signed: [{ config: 'hook' }, 'body'] }) },
    /add it to values/,
  ],
  [
    'a signed URL that is not given',
    { auth: check({ signed: [{ url: 'configured' }, 'body'] }) },
    /publicUrl: the URL/,
  ],
  [
    'a URL with a query where the request has its own',
    {
      auth: check({ signed: [{ url: 'requested' }, 'body'] }),
      request: { publicUrl: 'https://h.example/?a=1' },
    },
    /leave the query out/,
  ],
  [
    'a check for one half of the requests',
    { auth: check({ when: { query: 'q', present: true } }) },
    /only when query q is there: add one for the other case/,
  ],
  [
    'a hash in the query without a signature of it',
    { auth: { kind: 'queryEquals', name: 'h', to: { body: 'sha256hex' } } },
    /queryEquals alone proves nothing/,
  ],
  [
    'an id that nothing signs, declared signed',
    { eventId: { header: 'x-id' }, eventIdSigned: true },
    /not part of the signed/,
  ],
  ['a token and no replay key', { auth: token }, /replayKey: nothing signs the event id: choose body/],
  [
    'a token or a signature and no replay key',
    { auth: [check(), token], authMode: 'any' },
    /replayKey: nothing signs/,
  ],
  ['a token and a replay key of a signature', { auth: token, replayKey: 'signature' }, /choose body or none/],
  [
    'no dedupe, no timestamp and no replay key',
    { dedupe: 'none' },
    /captured request is a new event each time/,
  ],
  [
    'events without an id and without dedupe, which a captured request could make without end',
    { onMissingId: 'undeduped' },
    /captured request is a new event each time/,
  ],
  [
    'a window without merging',
    { dedupe: { window: '5s' } },
    /dedupe.window: a window belongs to policy coalesce/,
  ],
  [
    'a ttl of what is not remembered',
    { dedupe: { policy: 'none', ttl: '60d' } },
    /dedupe.ttl: a ttl belongs/,
  ],
  [
    'a window longer than anybody waits',
    { dedupe: { policy: 'coalesce', window: '2h' } },
    /expected at most 1h/,
  ],
  [
    'merged notifications with a replay key, which would refuse the next change',
    { dedupe: 'coalesce', replayKey: 'body' },
    /replayKey: notifications that are merged are alike/,
  ],
  [
    'an id with the number of the attempt',
    { eventId: { concat: [{ pointer: '/id' }, { pointer: '/attemptNumber' }] } },
    /changes with every attempt/,
  ],
  [
    'an id with a count of retries',
    { eventId: { sha256: [{ pointer: '/retryCount' }] } },
    /changes with every attempt/,
  ],
  ['the signature as the id', { eventId: { header: 'x-sig' } }, /changes with every attempt/],
  [
    'the time of the attempt in the id',
    {
      auth: check({ timestamp: { header: 't' }, signed: ['timestamp', 'body'] }),
      eventId: { concat: [{ pointer: '/id' }, { header: 't' }] },
    },
    /t changes with every attempt/,
  ],
  [
    'a pointer into a body that is not read',
    { parse: { format: 'text' } },
    /nothing is read from a body of format text/,
  ],
  [
    'a signature in XML, which strangers would have us read',
    { parse: { format: 'xml' }, auth: check({ signature: { pointer: '/a/@sig', encoding: 'hex' } }) },
    /XML is read of verified requests only: take signature/,
  ],
  [
    'a challenge in XML of anybody',
    {
      parse: { format: 'xml' },
      challenges: [{ when: { pointer: { at: '/a' } }, verified: false, echo: { pointer: '/a' } }],
    },
    /challenges.0.when: XML is read of verified/,
  ],
  ['a batch of XML', { parse: { format: 'xml' }, batch: { pointer: '/a' } }, /no items that could be taken/],
  ['a field of a form that is none', { parse: { formField: 'payload' } }, /formField belongs to format form/],
  [
    'gzip without a word on what is signed',
    { request: { encodings: ['gzip'] } },
    /signs the compressed bytes/,
  ],
  [
    'a batch of signed items that may be empty',
    {
      auth: check({ signature: { pointer: '/sig', encoding: 'hex' }, signed: [{ pointer: '/id' }] }),
      batch: { pointer: '/items', signature: 'perItem', empty: 'ack' },
    },
    /without items nothing was verified/,
  ],
  [
    'a signature of an item that signs none of it',
    { batch: { pointer: '/items', signature: 'perItem' } },
    /must sign values of it/,
  ],
  [
    'an id from a header for the items of a batch',
    { batch: { pointer: '/items' }, eventId: { header: 'x-id' } },
    /share their headers/,
  ],
  [
    'an id that all items of one element share',
    { batch: { pointer: '/a', nested: ['/b'] }, eventId: { pointer: '/id', in: 'element' } },
    /items of a batch share/,
  ],
  [
    'a place in a batch where there is none',
    { type: { pointer: '/t', in: 'delivery' } },
    /type: in says where in a batch to look/,
  ],
  [
    'two ways to the item',
    { batch: { pointer: '/a', item: '/b', nested: ['/c'] } },
    /item and nested both say where/,
  ],
  [
    'a batch of a form without a field that holds it',
    { parse: { format: 'form' }, batch: { pointer: '/a' } },
    /name the field that holds one/,
  ],
  [
    'a content type that decides what is signed',
    {
      auth: check({ signature: { pointer: '/sig', encoding: 'hex' }, signed: [{ pointer: '/id' }] }),
      batch: { pointer: '/items', signature: 'perItem', contentTypes: ['a/b'] },
    },
    /cannot decide what is signed/,
  ],
  [
    'a challenge that any request would be',
    { challenges: [{ when: { method: 'POST' }, verified: false, echo: { query: 'c' } }] },
    /would swallow events/,
  ],
  ['a preset that nobody has', { preset: 'nobody' }, /preset/],
])('%s is refused, with what to do about it', (_, changes, message) => {
  expect(mistakes(changes)).toMatch(message);
});

test('all mistakes are listed at once', () => {
  const text = mistakes({
    secrets: [],
    auth: check({ algorithm: 'ed25519', signed: [{ config: 'x' }] }),
    parse: { formField: 'p' },
    request: { encodings: ['gzip'] },
  });
  expect(text.split('\n').length).toBeGreaterThanOrEqual(6);
});

test('a configuration from before, with one check and nothing else, means what it meant', () => {
  expect(Source.parse(source())).toMatchObject({
    auth: [{ algorithm: 'hmac-sha256', key: 'utf8', signed: [['body']] }],
    authMode: 'all',
    request: { methods: ['POST'], encodings: [] },
    eventId: [{ pointer: '/id' }],
    eventIdSigned: true,
    replayKey: 'none',
    dedupe: { policy: 'event', windowMs: 0 },
    onMissingId: 'reject',
    parse: { format: 'json' },
    unverified: [],
  });
  expect(Source.parse(source({ eventId: { header: 'x-id' } }))).toMatchObject({
    eventIdSigned: false,
    replayKey: 'signature',
  });
});

test('an id counts as signed only where every way to pass signs it', () => {
  const signed = (changes: object): boolean => Source.parse(source(changes)).eventIdSigned;
  expect(signed({ auth: [check(), token] })).toBe(true);
  expect(signed({ auth: [check(), token], authMode: 'any', replayKey: 'body' })).toBe(false);
  expect(signed({ auth: token, replayKey: 'none' })).toBe(false);
  expect(signed({ eventId: { concat: [{ pointer: '/id' }, { header: 'x' }] } })).toBe(false);
  expect(signed({ eventId: { sha256: ['body', { literal: 'v1' }] } })).toBe(true);
  expect(signed({ eventIdSigned: false })).toBe(false);
  const item = {
    auth: check({ signature: { pointer: '/sig', encoding: 'hex' }, signed: [{ pointer: '/id' }] }),
    batch: { pointer: '/items', signature: 'perItem' },
  };
  expect(signed(item)).toBe(true);
  expect(signed({ ...item, eventId: { pointer: '/other' } })).toBe(false);
  // An element's own /id is another value than the item's, which is signed.
  const mixed = { concat: [{ pointer: '/id' }, { pointer: '/id', in: 'element' }] };
  expect(signed({ ...item, batch: { ...item.batch, nested: ['/list'] }, eventId: mixed })).toBe(false);
});

test('ten secrets for the largest body are within the work that one request may be, and so is one of fifty keys', () => {
  const maxBodyBytes = 25 * 1024 * 1024;
  const secrets = (length: number) => Array.from({ length }, (_, index) => ({ id: `s${index}`, value: 'x' }));
  expect(mistakes({ maxBodyBytes, secrets: secrets(10) })).toBe('');
  expect(mistakes({ maxBodyBytes, secrets: secrets(50), auth: check({ keyId: { header: 'x-key' } }) })).toBe(
    '',
  );
});
