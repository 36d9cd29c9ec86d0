import { describe, expect, test } from '@jest/globals';
import { isBatch, splitDelivery } from '../src/items.ts';
import { locateEvents } from '../src/locate.ts';
import { requestOf, sourceWith } from './support.ts';

const NESTED = {
  batch: { pointer: '/entry', nested: ['/changes', '/messages/list'], max: 4 },
  eventId: { concat: [{ pointer: '/id', in: 'element' }, { pointer: '/id' }] },
  type: { pointer: '/object', in: 'delivery' },
  entity: { pointer: '/name', in: 'element' },
};

const split = (changes: Record<string, unknown>, body: string): string[] | string => {
  const found = splitDelivery(sourceWith({ ...NESTED, ...changes }), requestOf(body));
  return found.ok ? found.items.map(({ bytes }) => bytes.toString()) : found.message;
};

describe('items in lists of lists', () => {
  test('are each an event with exactly its bytes, and know the element and the delivery that they came in', () => {
    const body =
      '{"object":"page", "entry" : [ {"id":"e1","name":"N","changes":[ {"id":1.10 } ,{"id":"b"}]},\r\n{"messages":{"list":[{"id":"b"}]},"id":"e2"}]}';
    const located = locateEvents(sourceWith(NESTED), requestOf(body));
    expect(located).toMatchObject({
      ok: true,
      events: [
        { eventId: 'e1:1.10', type: 'page', entity: 'N' },
        { eventId: 'e1:b', type: 'page', entity: 'N' },
        { eventId: 'e2:b', type: 'page', entity: '' },
      ],
    });
    expect(located.ok && located.events.map(({ document }) => document.bytes.toString())).toEqual([
      '{"id":1.10 }',
      '{"id":"b"}',
      '{"id":"b"}',
    ]);
  });

  test.each([
    [
      'an element with none of the lists is an item itself',
      '{"entry":[{"id":"e1"},7]}',
      ['{"id":"e1"}', '7'],
    ],
    ['both lists of an element count', '{"entry":[{"messages":{"list":[1]},"changes":[2]}]}', ['2', '1']],
    ['lists that are empty or null have no items', '{"entry":[{"changes":[]},{"changes":null}]}', []],
    ['a delivery without elements has none', '{"entry":null}', []],
    [
      'of all elements together there may be so many',
      '{"entry":[{"changes":[1,2,3]},{"changes":[4,5,6,7,8]}]}',
      'The delivery has more than 4 items.',
    ],
    [
      'elements without items count too, or they could be without number',
      `{"entry":[${Array.from({ length: 9 }, () => '{"changes":[]}').join()}]}`,
      'The delivery has more than 4 items.',
    ],
    [
      'what should be a list and is none cannot be read',
      '{"entry":[{"changes":{}}]}',
      'There is no list at /entry whose items can be read.',
    ],
    [
      'a list that is there twice cannot be read: another reader might take the other',
      '{"entry":[{"changes":[1],"changes":[2]}]}',
      'There is no list at /entry whose items can be read.',
    ],
    [
      'a name of a prototype is a name',
      '{"entry":[{"__proto__":{"changes":[1]}}]}',
      ['{"__proto__":{"changes":[1]}}'],
    ],
  ])('%s', (_, body, expected) => {
    expect(split({}, body)).toEqual(expected);
  });

  test('an element that is an item itself answers for both', () => {
    const located = locateEvents(sourceWith(NESTED), requestOf('{"entry":[{"id":"e1"}]}'));
    expect(located).toMatchObject({ ok: true, events: [{ eventId: 'e1:e1' }] });
  });

  test('a thousand of them read what they came in once: what is read is bounded by what was sent', () => {
    // A point and a backslash make exact reading necessary, of numbers and of names.
    const text = String.raw`\"1.5`.repeat(200);
    const changes = Array.from({ length: 1_000 }, (_, id) => ({ id, text }));
    const body = JSON.stringify({ entry: [{ changes, id: 7, time: 2.5 }], id: 1.5, object: 'page' });
    const source = sourceWith({
      batch: { ...NESTED.batch, max: 1_000 },
      eventId: {
        concat: [
          { pointer: '/id', in: 'delivery' },
          { pointer: '/time', in: 'element' },
          { pointer: '/id', in: 'element' },
          { pointer: '/id' },
        ],
      },
      type: { pointer: '/object', in: 'delivery' },
    });
    const startedAt = performance.now();
    const located = locateEvents(source, requestOf(body));
    expect(located.ok && located.events.at(-1)?.eventId).toBe('1.5:2.5:7:999');
    // Against a process that answers nobody else: 0.1 s, and minutes where each item reads the whole.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test('depth costs an answer, not the process', () => {
    const deep = `{"entry":[{"changes":[${'['.repeat(200_000)}${']'.repeat(200_000)}]}]}`;
    expect(locateEvents(sourceWith(NESTED), requestOf(deep))).toMatchObject({
      ok: false,
      code: 'event_id_missing',
    });
  });
});

describe('a source whose deliveries are batches by their content type', () => {
  const source = sourceWith({
    batch: { pointer: '', contentTypes: ['application/x-batch+json'] },
    eventId: [{ header: 'x-id' }, { pointer: '/id' }],
  });
  const idsOf = (body: string, type: string): unknown => {
    const located = locateEvents(source, requestOf(body, ['content-type', type], ['x-id', 'one']));
    return located.ok ? located.events.map(({ eventId }) => eventId) : located.code;
  };

  test('takes those for batches, and passes over headers there, which would make one event of all', () => {
    expect(idsOf('[{"id":"a"},{"id":"b"}]', 'Application/X-Batch+JSON; charset=utf-8')).toEqual(['a', 'b']);
    expect(idsOf('[{"id":"a"},{}]', 'application/x-batch+json')).toBe('event_id_missing');
  });

  test('takes any other for one event', () => {
    expect(idsOf('[{"id":"a"},{"id":"b"}]', 'application/json')).toEqual(['one']);
    const twice = requestOf('[]', ['content-type', 'application/x-batch+json'], ['content-type', 'a/b']);
    expect(isBatch(source, twice)).toBe(false);
    expect(isBatch(source, requestOf('[]'))).toBe(false);
  });
});
