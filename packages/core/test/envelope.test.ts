import { expect, test } from '@jest/globals';
import { bytesToSend, envelope } from '../src/envelope.ts';
import { contentOf } from '../src/event-content.ts';

const dataOf = (body: Buffer): string => {
  const event = {
    operator: 'default',
    source: 'shop',
    eventId: 'e1',
    type: 't',
    entity: '',
    receivedAt: 0,
    contentType: 'text/plain',
    body,
  };
  const sent = envelope(contentOf(event)).toString();
  const head = '{"id":"e1","type":"t","timestamp":"1970-01-01T00:00:00.000Z","data":';
  expect(sent.slice(0, head.length)).toBe(head);
  expect(sent.at(-1)).toBe('}');
  return sent.slice(head.length, -1);
};

test('a text that is no JSON is sent as the string that it is, whatever its length and wherever its characters lie', () => {
  for (const text of [
    '',
    'no JSON',
    '"\\\u0000\n\u007f',
    `${'x'.repeat(65_535)}é🚢`,
    `🚢é\u0001`.repeat(40_000),
  ]) {
    const data = dataOf(Buffer.from(text));
    expect(data === JSON.stringify(text)).toBe(true); // a difference of megabytes says nothing
  }
});

test('the bytes that a body is sent with are known before it is made', () => {
  const control = Buffer.alloc(100_000, 1);
  expect(bytesToSend(control)).toBe(Buffer.byteLength(dataOf(control)) - 2);
  for (const body of [
    Buffer.from('{"a":"b"}'),
    Buffer.from('plain'),
    Buffer.alloc(0),
    Buffer.alloc(1_000, 0xff),
  ])
    expect(bytesToSend(body)).toBe(body.length);
});
