import { expect, test } from '@jest/globals';
import {
  deliveryId,
  deliveryOfAlarm,
  destinationKind,
  destinationLabel,
  erpDestination,
  erpTargetOf,
  eventKey,
  hashBytes,
  hashId,
  headerSafe,
  newEndpointId,
  newId,
  parseDeliveryId,
} from '../src/ids.ts';

test('a hash of several strings tells where one ends and the next begins', () => {
  const alike = [
    hashId('a', 'bc'),
    hashId('ab', 'c'),
    hashId('abc'),
    hashId('abc', ''),
    hashId('', 'abc'),
    hashId('a1:b', 'c'),
    hashId('a', '1:b', 'c'),
    hashId('1:a', 'bc'),
  ];
  expect(new Set(alike).size).toBe(alike.length);
  expect(hashId('a', 'bc')).toBe(hashId('a', 'bc'));
});

test('characters of several bytes do not shift where a part ends', () => {
  expect(hashId('é', 'x')).not.toBe(hashId('é1:x'));
  expect(hashId('é1', ':x')).not.toBe(hashId('é', '1:x'));
});

test('ids are 22 letters and digits: safe in a Redis key, a BullMQ job id, a URL and a shell', () => {
  for (let index = 0; index < 500; index += 1) {
    for (const id of [newId(), hashId(String(index)), hashBytes(Buffer.from([index, index >> 8]))]) {
      expect(id).toMatch(/^[A-Za-z0-9]{22}$/);
    }
  }
});

test('the same event id is another event at another source and at another operator', () => {
  const keys = [
    eventKey('a', 's', '1'),
    eventKey('b', 's', '1'),
    eventKey('a', 't', '1'),
    eventKey('a', 's', '2'),
  ];
  expect(new Set(keys).size).toBe(4);
});

test('a delivery id gives event and destination back, also where a target is called by dashes', () => {
  const event = newId();
  for (const destination of [erpDestination('sap-eu-2'), newEndpointId(), erpDestination('a_b-c')]) {
    expect(parseDeliveryId(deliveryId(event, destination))).toEqual({ event, destination });
  }
  expect(parseDeliveryId('short.erp_x')).toBeUndefined();
  expect(parseDeliveryId('')).toBeUndefined();
});

test('the delivery of an alarm is found by the last dash, whatever the target is called', () => {
  const delivery = deliveryId(newId(), erpDestination('sap-eu-2'));
  expect(deliveryOfAlarm(`${delivery}-17`)).toBe(delivery);
  expect(deliveryOfAlarm(`${delivery}-r${newId()}`)).toBe(delivery);
});

test('a destination says what it is, and its metric label never holds an id', () => {
  const endpoint = newEndpointId();
  expect(destinationKind(endpoint)).toBe('endpoint');
  expect(destinationLabel(endpoint)).toBe('endpoint');
  expect(erpTargetOf(endpoint)).toBeUndefined();
  expect(destinationKind(erpDestination('receipts'))).toBe('erp');
  expect(destinationLabel(erpDestination('receipts'))).toBe('receipts');
});

test('a reference with a line break, a space or a foreign letter cannot forge a header', () => {
  expect(headerSafe('evt_1-2.3:4/5')).toBe('evt_1-2.3:4/5');
  expect(headerSafe('a\r\nx-evil: 1')).toBe('a%0D%0Ax-evil:%201');
  expect(headerSafe('Straße 🚢')).toBe('Stra%C3%9Fe%20%F0%9F%9A%A2');
  expect(headerSafe('\u007f\u0000')).toBe('%7F%00');
});

test('two references never become one header value', () => {
  const alphabet = ['a', '%', '0', 'A', '2', '5', ' ', '\n', 'é', '🚢', '\u0000'];
  const seen = new Map<string, string>();
  const wrong: string[] = [];
  for (let n = 0; n < alphabet.length ** 4; n += 1) {
    let text = '';
    for (let rest = n; rest > 0; rest = Math.floor(rest / alphabet.length))
      text += alphabet[rest % alphabet.length];
    const safe = headerSafe(text);
    if ((seen.get(safe) ?? text) !== text || !/^[\u0021-\u007e]*$/.test(safe)) wrong.push(text);
    seen.set(safe, text);
  }
  expect(wrong).toEqual([]);
  expect(seen.size).toBeGreaterThan(10_000);
});
