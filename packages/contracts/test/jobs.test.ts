import { isUtf8 } from 'node:buffer';
import { expect, test } from '@jest/globals';
import {
  decodeAlarmJob,
  decodeBody,
  decodeDeadLetterJob,
  decodeEventJob,
  encodeBody,
  type EventJob,
} from '../src/jobs.ts';

const event: EventJob = {
  v: 1,
  operator: 'default',
  source: 's',
  eventId: 'e',
  type: 't',
  entity: '',
  contentType: '',
  receivedAt: 1,
  encoding: 'utf8',
  body: '{}',
};

test('a job of an unknown version fails loudly, as does one with a field that nobody knows', () => {
  expect(decodeEventJob(event)).toEqual(event);
  expect(decodeAlarmJob({ v: 1, delivery: 'd' })).toEqual({ v: 1, delivery: 'd' });
  expect(() => decodeEventJob({ ...event, v: 4 })).toThrow(/"v"/);
  expect(() => decodeEventJob({ ...event, priority: 1 })).toThrow(/priority/);
  expect(() => decodeAlarmJob({ v: 2, delivery: 'd' })).toThrow(/"v"/);
  expect(() => decodeAlarmJob({ delivery: 'd' })).toThrow(/"v"/);
  expect(() =>
    decodeDeadLetterJob({ v: 0, delivery: 'd', event: 'e', destination: 'x', reason: '' }),
  ).toThrow(/"v"/);
});

test('an event that others were merged into is version 3, and no earlier version is taken for one', () => {
  const coalesced = { ...event, v: 3, coalesced: true };
  expect(decodeEventJob(coalesced)).toEqual(coalesced);
  expect(() => decodeEventJob({ ...coalesced, v: 1 })).toThrow(/coalesced/);
});

test('an event that says when it occurred is version 2; version 1 knows no such field, and is still read', () => {
  const occurred = { ...event, v: 2, occurredAt: -1 };
  expect(decodeEventJob(occurred)).toEqual(occurred);
  expect(() => decodeEventJob({ ...event, v: 2 })).toThrow(/occurredAt/);
  expect(() => decodeEventJob({ ...event, occurredAt: 1 })).toThrow(/occurredAt/);
});

test('a job without an operator, a source or an event id is refused', () => {
  for (const field of ['operator', 'source', 'eventId'])
    expect(() => decodeEventJob({ ...event, [field]: '' })).toThrow(field);
});

test('every body comes out as the bytes that went in, text or not', () => {
  for (const bytes of [
    Buffer.from('{"price":1.10}\n'),
    Buffer.from('\ufeff{}'),
    Buffer.from('\u0000🚢'),
    Buffer.from([0xff, 0xfe, 0x00, 0xc3]),
    Buffer.alloc(0),
    Buffer.alloc(100_000, 1),
  ]) {
    const travelled = JSON.parse(JSON.stringify(encodeBody(bytes, isUtf8(bytes)))) as ReturnType<
      typeof encodeBody
    >;
    expect(decodeBody(travelled)).toEqual(bytes);
  }
  expect(encodeBody(Buffer.from('x'), true).encoding).toBe('utf8');
  expect(encodeBody(Buffer.from([0xff]), false).encoding).toBe('base64');
});

test('no body is more than twice its size in a job, and what can be JSON stays readable', () => {
  for (const [filling, encoding] of [
    ['\u0001', 'base64'],
    ['"', 'utf8'],
    ['\n\t', 'utf8'],
    ['é🚢x', 'utf8'],
  ] as const) {
    const bytes = Buffer.alloc(1_000_000, filling);
    const whole = bytes.subarray(0, bytes.lastIndexOf(filling));
    const encoded = encodeBody(whole, isUtf8(whole));
    expect([filling, encoded.encoding]).toEqual([filling, encoding]);
    expect(Buffer.byteLength(JSON.stringify(encoded.body))).toBeLessThanOrEqual(2 * bytes.length + 2);
  }
});
