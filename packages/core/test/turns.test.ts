import { expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { createTurns, type Turn, type Turns } from '../src/turns.ts';

const LONG_MS = 1_000_000;

/** Asks for turns, and writes down who gets them in which order. */
function line(turns: Turns) {
  const order: string[] = [];
  const held = new Map<string, Turn>();
  return {
    order,
    ask: (name: string, inHand = false): void => {
      void (async () => {
        const turn = await turns.take(inHand);
        order.push(name);
        held.set(name, turn);
      })();
    },
    end: (name: string): void => held.get(name)?.end(),
    begun: (name: string): void => held.get(name)?.begun(),
    reaches: (...names: string[]) =>
      waitUntil(() => order.length >= names.length, { what: names.join() }).then(() =>
        expect(order).toEqual(names),
      ),
  };
}

test('so many work at once; the others follow in order, and what is in hand already goes before what only wants to begin', async () => {
  const { ask, end, reaches } = line(createTurns(2, LONG_MS));
  for (const name of ['a', 'b', 'c', 'd']) ask(name);
  ask('in hand', true);
  await reaches('a', 'b');
  end('b');
  await reaches('a', 'b', 'in hand');
  end('a');
  await reaches('a', 'b', 'in hand', 'c');
});

test('a turn that is given back twice makes room for one', async () => {
  const { ask, end, order, reaches } = line(createTurns(1, LONG_MS));
  for (const name of ['a', 'b', 'c']) ask(name);
  await reaches('a');
  end('a');
  end('a');
  await reaches('a', 'b');
  end('b');
  await reaches('a', 'b', 'c');
  end('c');
  for (const name of ['d', 'e']) ask(name);
  await waitUntil(() => order.length === 4, { what: 'one more' });
  expect(order).not.toContain('e');
});

test('what waits for its endpoint makes room, and what has not begun keeps its turn', async () => {
  const { ask, begun, order, reaches } = line(createTurns(2, 20));
  for (const name of ['a', 'b', 'c', 'd']) ask(name);
  await reaches('a', 'b');
  begun('a'); // its endpoint hangs
  await reaches('a', 'b', 'c');
  begun('c');
  await reaches('a', 'b', 'c', 'd');
  expect(order).toHaveLength(4);
});
