import type { Ledger } from '@breakwater/store/ledger';
import { expect, test } from '@jest/globals';
import { type DocumentCount, sideEffectRatio } from '../src/fleet-snapshot.ts';

const ledger = (owed: number, postings: number, doubles: number): Ledger => {
  const of = (value: number) => new Map([['receipts', value]]);
  const none = new Map<string, number>();
  return {
    accepted: none,
    unrouted: none,
    published: none,
    publishedUnrouted: none,
    expected: of(owed),
    postings: of(postings),
    doubles: of(doubles),
    resolved: none,
    created: none,
    expired: none,
    deliveries: new Map(),
    interrupted: 0,
    autoPauses: 0,
  };
};
const ratio = (of: Ledger, count?: DocumentCount): number => sideEffectRatio(of, 'receipts', count);

test('nothing owed and nothing there is right, and a document that nobody owed is not', () => {
  expect(ratio(ledger(0, 0, 0))).toBe(1);
  expect(ratio(ledger(0, 0, 0), { documents: 0, owed: 0, doubles: 0 })).toBe(1);
  expect(ratio(ledger(0, 0, 0), { documents: 1, owed: 0, doubles: 0 })).toBe(Number.POSITIVE_INFINITY);
});

test('what came in since the ERP was counted is no gap', () => {
  expect(ratio(ledger(200, 150, 0), { documents: 100, owed: 100, doubles: 0 })).toBe(1);
  expect(ratio(ledger(200, 150, 0), { documents: 99, owed: 100, doubles: 0 })).toBe(0.99);
});

test('a double of ours shows at once, also while other deliveries are open', () => {
  expect(ratio(ledger(100, 101, 1), { documents: 100, owed: 100, doubles: 0 })).toBe(1.01);
  expect(ratio(ledger(100, 51, 1), { documents: 50, owed: 50, doubles: 0 })).toBe(1.01);
});

test('and is over once the ERP has been counted without it: somebody cancelled the document', () => {
  expect(ratio(ledger(100, 101, 1), { documents: 101, owed: 100, doubles: 1 })).toBe(1.01);
  expect(ratio(ledger(100, 101, 1), { documents: 100, owed: 100, doubles: 1 })).toBe(1);
});

test('an ERP that cannot be counted is taken at our own word', () => {
  expect(ratio(ledger(100, 99, 0))).toBe(0.99);
  expect(ratio(ledger(100, 101, 1))).toBe(1.01);
});
