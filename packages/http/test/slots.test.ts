import { expect, test } from '@jest/globals';
import { createSlots } from '../src/slots.ts';

const never = new AbortController().signal;

test('slots of one key are given out in the order in which they were asked for, other keys do not wait', async () => {
  const slots = createSlots(1);
  const order: string[] = [];
  const first = await slots.take('a', 1_000, never);
  const waiting = ['second', 'third'].map(async (name) => {
    const release = await slots.take('a', 10_000, never);
    order.push(name);
    release?.();
  });
  expect(await slots.take('b', 1_000, never)).toBeDefined();
  expect(order).toEqual([]);
  first?.();
  await Promise.all(waiting);
  expect(order).toEqual(['second', 'third']);
});

test('who gives up waiting, by time or by signal, takes no slot from those behind', async () => {
  const slots = createSlots(1);
  const release = await slots.take('a', 1_000, never);
  const stop = new AbortController();
  const late = slots.take('a', 5, never);
  const stopped = slots.take('a', 10_000, stop.signal);
  const patient = slots.take('a', 10_000, never);
  stop.abort();
  expect(await late).toBeUndefined();
  expect(await stopped).toBeUndefined();
  release?.();
  expect(await patient).toBeDefined();
});
