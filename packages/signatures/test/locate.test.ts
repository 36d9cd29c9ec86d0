import { expect, test } from '@jest/globals';
import { type Located, locateEvent } from '../src/locate.ts';
import { requestOf, sourceWith } from './support.ts';

const located = (
  changes: Record<string, unknown>,
  body: string | Buffer,
  ...headers: [string, string][]
): Located => locateEvent(sourceWith(changes), requestOf(body, ...headers));
const idOf = (body: string | Buffer, pointer = '/id'): string => {
  const result = located({ eventId: { pointer } }, body);
  return result.ok ? result.eventId : result.code;
};

test('id, type and entity are found in the body and in headers', () => {
  const changes = {
    eventId: { pointer: '/data/id' },
    type: { header: 'X-Type' },
    entity: { pointer: '/order' },
  };
  expect(located(changes, '{"data":{"id":"evt_1"},"order":7}', ['x-type', 'paid'])).toEqual({
    ok: true,
    eventId: 'evt_1',
    type: 'paid',
    entity: '7',
  });
});

test('ids that are numbers are kept exactly as written, or two events would become one', () => {
  expect(idOf('{"id":12345678901234567890}')).toBe('12345678901234567890');
  expect(idOf('{"id":12345678901234567891}')).toBe('12345678901234567891');
  expect(idOf('{"id":9007199254740993}')).toBe('9007199254740993');
  expect(idOf('{"id":1.10}')).toBe('1.10');
  expect(idOf('{"id":1e400}')).toBe('1e400');
  expect(idOf('{"id":0}')).toBe('0');
});

test('an id is taken as it is, not trimmed and not normalised', () => {
  expect(idOf('{"id":" a "}')).toBe(' a ');
  expect(idOf('{"id":"A\u030A"}')).toBe('A\u030A');
});

test.each([
  ['no member', '{}'],
  ['null', '{"id":null}'],
  ['an empty text', '{"id":""}'],
  ['an object', '{"id":{}}'],
  ['a list', '{"id":["a"]}'],
  ['true, which is half of all events', '{"id":true}'],
  ['false', '{"id":false}'],
  ['a body that is no object', '"id"'],
  ['a text longer than 512 characters', JSON.stringify({ id: 'x'.repeat(513) })],
  ['half of a surrogate pair, which UTF-8 cannot tell from another', String.raw`{"id":"\ud800"}`],
])('an event without an id is refused: %s', (_, body) => {
  expect(located({}, body)).toMatchObject({ ok: false, code: 'event_id_missing' });
});

test('true and false are no ids, but may be a piece of one, and the next expression is asked', () => {
  const body = '{"id":true,"ok":false,"order":"o1"}';
  const eventIdBy = (eventId: unknown): unknown => located({ eventId }, body);
  expect(eventIdBy([{ pointer: '/id' }, { pointer: '/order' }])).toMatchObject({ eventId: 'o1' });
  expect(eventIdBy({ concat: [{ pointer: '/order' }, { pointer: '/ok' }] })).toMatchObject({
    eventId: 'o1:false',
  });
  // A body that cannot be read matters only where something in it is looked for.
  expect(located({ eventId: { header: 'x-id' }, replayKey: 'body' }, '{', ['x-id', 'h1'])).toMatchObject({
    eventId: 'h1',
  });
});

test('an id of 512 characters is the longest', () => {
  expect(idOf(JSON.stringify({ id: 'x'.repeat(512) }))).toBe('x'.repeat(512));
});

test('the message names every place that was searched', () => {
  const result = located({ eventId: [{ header: 'X-Id' }, { pointer: '/id' }] }, '{}');
  expect(result).toMatchObject({
    message: 'There is no event id (non-empty text or a number) at header x-id or at JSON pointer /id.',
  });
});

test('the first place with a text that is not empty wins', () => {
  const changes = { eventId: [{ header: 'x-id' }, { pointer: '/a' }, { pointer: '/b' }] };
  expect(located(changes, '{"a":"","b":"from b"}', ['x-id', ''])).toMatchObject({ eventId: 'from b' });
  expect(located(changes, '{"a":"from a"}', ['x-id', 'from header'])).toMatchObject({
    eventId: 'from header',
  });
});

test('an id header that comes twice is refused, also where another place holds an id', () => {
  const changes = { eventId: [{ header: 'x-id' }, { pointer: '/id' }] };
  const result = located(changes, '{"id":"a"}', ['x-id', '1'], ['X-Id', '1']);
  expect(result).toMatchObject({
    ok: false,
    code: 'event_id_missing',
    message: expect.stringContaining('more than once'),
  });
});

test('type and entity may be absent, and are cut rather than refused when they are too long', () => {
  const changes = { type: { pointer: '/type' }, entity: { pointer: '/entity' } };
  expect(located(changes, '{"id":"1"}')).toMatchObject({ ok: true, type: '', entity: '' });
  const long = JSON.stringify({ id: '1', type: 't'.repeat(300), entity: `${'e'.repeat(255)}😀` });
  expect(located(changes, long)).toMatchObject({ type: 't'.repeat(256), entity: 'e'.repeat(255) });
  expect(
    located({ type: { header: 'x-type' } }, '{"id":"1"}', ['x-type', 'a'], ['x-type', 'b']),
  ).toMatchObject({ ok: true, type: '' });
});

test('a byte order mark is tolerated', () => {
  expect(idOf('\uFEFF{"id":"a"}')).toBe('a');
  expect(idOf('\uFEFF{"id":12345678901234567890}')).toBe('12345678901234567890');
});

test('names of object members are names like any other', () => {
  expect(idOf('{"__proto__":{"id":"polluted"},"id":"own"}')).toBe('own');
  expect(idOf('{"__proto__":{"id":"polluted"}}')).toBe('event_id_missing');
  expect(idOf('{"a":1}', '/constructor/name')).toBe('event_id_missing');
  expect(idOf('{"__proto__":{"id":"own member"}}', '/__proto__/id')).toBe('own member');
  expect(Object.hasOwn(Object.prototype, 'id')).toBe(false);
});

const UNPARSABLE: [string, string | Buffer][] = [
  ['nothing', ''],
  ['no JSON', 'id=1'],
  ['JSON cut short', '{"id":"a"'],
  ['no UTF-8', Buffer.from([0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
  ['a lone byte order mark', '\uFEFF'],
];

test.each(UNPARSABLE)(
  'a body that is %s is refused where the id is in it, or parked under its hash where the source says accept',
  (_, body) => {
    expect(located({}, body)).toMatchObject({ ok: false, code: 'body_unparsable' });
    const parked = located({ onUnparsable: 'accept' }, body);
    expect(parked).toEqual({
      ok: true,
      eventId: expect.stringMatching(/^body-[A-Za-z0-9]{22}$/),
      type: '',
      entity: '',
      parked: true,
    });
    // A retry has the same bytes, and must be the same event.
    expect(located({ onUnparsable: 'accept' }, body)).toEqual(parked);
  },
);

test.each(UNPARSABLE)(
  'a body that is %s is accepted where the id is elsewhere and the source says accept',
  (_, body) => {
    const changes = { eventId: [{ pointer: '/id' }, { header: 'x-id' }], type: { pointer: '/type' } };
    expect(located({ ...changes, onUnparsable: 'accept' }, body, ['x-id', '1'])).toEqual({
      ok: true,
      eventId: '1',
      type: '',
      entity: '',
      parked: true,
    });
    expect(located(changes, body, ['x-id', '1'])).toMatchObject({ ok: false, code: 'body_unparsable' });
  },
);

test('a body that no locator needs is not parsed', () => {
  expect(located({ eventId: { header: 'x-id' } }, 'id=1&plain=form', ['x-id', '1'])).toMatchObject({
    ok: true,
    eventId: '1',
  });
});

test('no message quotes the payload', () => {
  expect(JSON.stringify(located({}, '{"card":"4111111111111111",}'))).not.toContain('4111');
});

test('a megabyte of nested brackets is an answer, not a crash', () => {
  const deep = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
  expect(idOf(`{"id":"a","x":${deep}}`)).toBe('a');
  expect(idOf(`{"id":1.50,"x":${deep}}`)).toBe('1.50');
});

test.each([
  ['plainly', '{"id":"a","id":"b"}'],
  ['with the same value', '{"id":"a","id":"a"}'],
  ['written with an escape', String.raw`{"id":"a","\u0069d":"b"}`],
  ['on the way to it', '{"data":{"id":"a"},"data":{"id":"b"}}'],
])('an id that is there twice is refused, because another reader may take the other one: %s', (_, body) => {
  const pointer = body.includes('data') ? '/data/id' : '/id';
  expect(located({ eventId: { pointer } }, body)).toMatchObject({
    code: 'event_id_missing',
    message: expect.stringContaining('more than once'),
  });
});

test('the name of the id elsewhere in the body, or in a text, is no repetition', () => {
  for (const body of [
    '{"other":{"id":"b"},"id":"a"}',
    String.raw`{"text":"\"id\":\"b\",","id":"a","list":[{"id":"c"}]}`,
  ]) {
    expect(idOf(body)).toBe('a');
  }
});

test('an id made of several values keeps apart what joining would make one', () => {
  const eventId = { concat: [{ pointer: '/a' }, { pointer: '/b' }] };
  const of = (a: string, b: string) => located({ eventId }, JSON.stringify({ a, b }));
  expect(of('x', 'y')).toMatchObject({ eventId: 'x:y' });
  expect(of('x:y', 'z')).not.toEqual(of('x', 'y:z'));
  expect(of('x%3Ay', 'z')).not.toEqual(of('x:y', 'z'));
  expect(of('x', '')).toMatchObject({ code: 'event_id_missing' });
});

test('an id that is a hash of named parts ignores all other parts', () => {
  const eventId = { sha256: [{ pointer: '/event' }, { pointer: '/payload/id' }] };
  const at = (createdAt: string, id = 7) =>
    located({ eventId }, JSON.stringify({ event: 'x', payload: { id }, createdAt }));
  expect(at('01Z')).toEqual(at('05Z'));
  expect(at('01Z', 8)).not.toEqual(at('01Z'));
});

test('a form is read by its fields, and a field that comes twice is none', () => {
  const parse = { format: 'form' };
  expect(located({ parse }, 'id=a+b%21&x=1')).toMatchObject({ eventId: 'a b!' });
  expect(located({ parse }, 'id=a&id=b')).toMatchObject({ code: 'event_id_missing' });
  const inField = { parse: { format: 'form', formField: 'payload' }, eventId: { pointer: '/id' } };
  expect(located(inField, `payload=${encodeURIComponent('{"id":1.10}')}`)).toMatchObject({ eventId: '1.10' });
  expect(located(inField, 'id=1')).toMatchObject({ code: 'body_unparsable' });
});

test('a body that is taken as bytes is never read', () => {
  for (const format of ['xml', 'text', 'none']) {
    const settings = { parse: { format }, eventId: { sha256: ['body'] } };
    expect(located(settings, Buffer.from([0xff, 0x00]))).toMatchObject({ ok: true });
  }
});
