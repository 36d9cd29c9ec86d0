import { AppError } from '@breakwater/runtime/errors';
import { describe, expect, test } from '@jest/globals';
import { createMapping, toMappingInput } from '../src/mapping.ts';
import { eventOf } from './support/events.ts';

const order = { order_id: 'o-1', warehouse: 'north', lines: [{ sku: 'A', quantity: 2 }] };

const documentOf = async (document: string, event = eventOf(order), reference = 'ref-1'): Promise<unknown> =>
  await createMapping({ document }).document(event, reference);

const referenceOf = async (reference: string | undefined, event = eventOf(order)): Promise<unknown> =>
  await createMapping({ document: 'data', reference }).reference(event);

describe('the document', () => {
  test('is made of the event and the reference on record', async () => {
    const result = await documentOf(
      '{ "ref": reference, "order": data.order_id, "at": receivedAt, "from": source & "/" & operator, "raw": text }',
    );
    expect(result).toEqual({
      ok: true,
      value: {
        ref: 'ref-1',
        order: 'o-1',
        at: '2026-01-02T03:04:05.006Z',
        from: 'demo-payments/default',
        raw: JSON.stringify(order),
      },
    });
  });

  test('takes the reference that fan-out would fix when none is on record', async () => {
    const mapping = createMapping({ document: '{ "ref": reference }', reference: 'source & ":" & eventId' });
    expect(await mapping.document(eventOf(order))).toEqual({
      ok: true,
      value: { ref: 'demo-payments:evt-1' },
    });
    expect(await mapping.document(eventOf(order), 'recorded')).toEqual({
      ok: true,
      value: { ref: 'recorded' },
    });
  });

  test('is plain JSON, without the flags that JSONata puts on its lists', async () => {
    const event = eventOf({ lines: [{ sku: 'A' }, { sku: 'B' }] });
    const result = (await documentOf('{ "skus": data.lines.sku }', event)) as { value: { skus: unknown[] } };
    expect(result.value.skus).toEqual(['A', 'B']);
    expect(Object.getOwnPropertyNames(result.value.skus)).toEqual(['0', '1', 'length']);
  });

  test('keeps the list of an order with one line a list', async () => {
    expect(await documentOf('{ "lines": data.lines }')).toEqual({ ok: true, value: { lines: order.lines } });
  });

  test('carries an order number beyond 2^53 exactly', async () => {
    const event = eventOf('{"order_id":12345678901234567890,"small":9007199254740991,"exp":1e400}');
    expect(
      await documentOf(
        '{ "id": data.order_id, "text": data.order_id & "", "small": data.small, "exp": data.exp }',
        event,
      ),
    ).toEqual({
      ok: true,
      value: {
        id: '12345678901234567890',
        text: '12345678901234567890',
        small: 9007199254740991,
        exp: '1e400',
      },
    });
  });

  test('leaves decimals as they are', async () => {
    const result = await documentOf('data', eventOf('{"price":19.99,"tax":0.1,"total":1e3}'));
    expect(result).toEqual({ ok: true, value: { price: 19.99, tax: 0.1, total: 1000 } });
  });

  test.each([
    ['finds nothing', 'data.nowhere', 'nothing'],
    ['is null', 'null', 'null'],
    ['is a rounded number', '{ "n": 9007199254740993 }', 'the member n'],
    ['is not finite', '{ "n": 1 / 0 }', 'the member n'],
    ['holds a function', '{ "f": function($x) { $x } }', 'the member f'],
    ['holds a built-in function', '{ "f": $sum }', 'the member f'],
    ['holds a regular expression', '{ "f": /a/ }', 'the member f'],
    ['adds text', 'data.order_id + 1', 'at position 15'],
    ['raises an error of its own', '$error("no warehouse")', 'no warehouse'],
  ])('that %s is an error with a reason, not an exception', async (_name, expression, reason) => {
    const result = await documentOf(expression);
    expect(result).toEqual({ ok: false, message: expect.stringContaining(reason) });
    expect(result).toMatchObject({ message: expect.stringMatching(/^document/) });
  });

  test('of a body that is no JSON can still be made of its text', async () => {
    const event = eventOf('order_id=7');
    expect(event.data).toBeUndefined();
    expect(await documentOf('{ "id": $substringAfter(text, "=") }', event)).toEqual({
      ok: true,
      value: { id: '7' },
    });
    expect(await documentOf('data', event)).toMatchObject({ ok: false });
  });

  test('does not change the event it was made of', async () => {
    const event = eventOf(order);
    const before = structuredClone(event);
    await documentOf('data ~> | lines | { "sku": "changed" } |', event);
    await documentOf('$append(data.lines, data.lines)', event);
    expect(event).toEqual(before);
  });
});

describe('a mapping that would never end', () => {
  test('is stopped when it loops', async () => {
    expect(await documentOf('( $loop := function() { $loop() }; $loop() )')).toMatchObject({
      ok: false,
      message: expect.stringContaining('timeout'),
    });
  });

  test('is stopped when it nests without end', async () => {
    expect(await documentOf('( $deep := function($n) { 1 + $deep($n + 1) }; $deep(1) )')).toMatchObject({
      ok: false,
      message: expect.stringContaining('Stack overflow'),
    });
  });

  test('is stopped when it makes an endless list', async () => {
    expect(await documentOf('[1..10000000]')).toMatchObject({
      ok: false,
      message: expect.stringContaining('sequence length'),
    });
  });

  test.each([
    ['doubles a text', '$reduce([1..26], function($text, $n) { $text & $text }, "x")'],
    [
      'uses an object again and again',
      '$reduce([1..13], function($a, $n) { { "a": $a, "b": $a, "c": $a, "d": $a } }, "x")',
    ],
  ])('is stopped when it %s', async (_name, expression) => {
    expect(await documentOf(expression)).toEqual({
      ok: false,
      message: 'document: the result is larger than 32 MiB.',
    });
  });

  test('is told apart from a process that was stopped for a while', async () => {
    let isStopped = false;
    const data = {
      get order_id() {
        if (isStopped) return 'o-1';
        isStopped = true;
        for (const until = Date.now() + 1_200; Date.now() < until;);
        return 'o-1';
      },
    };
    const event = { ...eventOf(order), data };
    expect(await documentOf('( $id := data.order_id; { "id": $id, "type": type } )', event)).toEqual({
      ok: true,
      value: { id: 'o-1', type: 'order.paid' },
    });
    expect(isStopped).toBe(true);
  });

  test('does not stop a mapping after it', async () => {
    const mapping = createMapping({
      document: 'data.loop ? ( $f := function() { $f() }; $f() ) : { "fine": true }',
    });
    const [endless, fine] = await Promise.all([
      mapping.document(eventOf({ loop: true })),
      mapping.document(eventOf({ loop: false })),
    ]);
    expect(endless).toMatchObject({ ok: false });
    expect(fine).toEqual({ ok: true, value: { fine: true } });
  });
});

describe('the reference', () => {
  test('is the event id unless something else is configured', async () => {
    expect(await referenceOf(undefined)).toEqual({ ok: true, value: 'evt-1' });
    expect(await referenceOf('source & ":" & eventId')).toEqual({ ok: true, value: 'demo-payments:evt-1' });
  });

  test.each([
    ['a number', '7', 'a number'],
    ['nothing', 'data.nowhere', 'nothing'],
    ['an empty text', '""', 'empty'],
    ['blanks', '"  "', 'empty'],
    ['a list', 'data.lines', 'an array of 1'],
    ['a text of more than 512 characters', '$pad("", 513, "x")', 'at most 512'],
    ['a failing expression', '$number("x")', 'reference at position'],
  ])('that is %s is an error', async (_name, expression, reason) => {
    expect(await referenceOf(expression)).toEqual({ ok: false, message: expect.stringContaining(reason) });
  });

  test('of 512 characters is accepted', async () => {
    expect(await referenceOf('$pad("", 512, "x")')).toMatchObject({ ok: true });
  });

  test('that is an event id of more than 512 characters is an error too', async () => {
    expect(await referenceOf(undefined, eventOf(order, 'x'.repeat(513)))).toMatchObject({ ok: false });
  });

  test('that fails takes the document with it', async () => {
    const mapping = createMapping({ document: '{ "ref": reference }', reference: 'data.nowhere' });
    expect(await mapping.document(eventOf(order))).toMatchObject({ ok: false });
  });
});

test('syntax errors are all listed when the mapping is made, each with its place and position', () => {
  const broken = { document: '{ "a": ', reference: 'foo(' };
  expect(() => createMapping(broken)).toThrow(AppError);
  expect(() => createMapping(broken)).toThrow(/document: .*position 7[\s\S]*reference: .*position 4/);
});

test('a message never grows with the event', async () => {
  const result = (await documentOf('$toMillis(data.long)', eventOf({ long: 'x'.repeat(10_000) }))) as {
    message: string;
  };
  expect(result.message.length).toBeLessThanOrEqual(300);
});

test('a body that is nested too deeply to be read exactly gives an error, not half a document', async () => {
  const depth = 200_000;
  const text = `{"order_id":"o-1","n":12345678901234567890,"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const input = toMappingInput({
    eventId: 'e',
    type: 't',
    source: 's',
    operator: 'o',
    entity: '',
    receivedAt: 0,
    text,
  });
  const result = await createMapping({ document: '{ "order_id": data.order_id }' }).document(input);
  expect(result).toMatchObject({ ok: false, message: expect.stringContaining('nested too deeply') });
});
