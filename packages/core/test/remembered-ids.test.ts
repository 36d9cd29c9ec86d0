import { expect, test } from '@jest/globals';
import { RememberedIds } from '../src/remembered-ids.ts';

test('memory is bounded: the oldest ids leave first', () => {
  const ids = new RememberedIds(3);
  for (const key of ['a', 'b', 'c', 'd']) ids.add(key, `hash of ${key}`);
  expect(ids.size).toBe(3);
  expect(ids.get('a')).toBeUndefined();
  expect(ids.get('d')).toBe('hash of d');
  for (let index = 0; index < 10_000; index += 1) ids.add(`k${index}`, 'h');
  expect(ids.size).toBe(3);
});

test('an id that is added again takes no second place', () => {
  const ids = new RememberedIds(2);
  for (const key of ['a', 'b', 'b', 'b']) ids.add(key, 'h');
  expect(ids.get('a')).toBe('h');
});

test('a capacity of nothing remembers nothing', () => {
  const ids = new RememberedIds(0);
  ids.add('a', 'h');
  expect(ids.get('a')).toBeUndefined();
});

test('after clearing nothing is known', () => {
  const ids = new RememberedIds(2);
  ids.add('a', 'h');
  ids.clear();
  expect(ids.get('a')).toBeUndefined();
  expect(ids.size).toBe(0);
});
