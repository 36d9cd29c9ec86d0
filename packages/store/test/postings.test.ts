import { expect, test } from '@jest/globals';
import { AT_ONCE, Store } from './support/store.ts';

async function posting() {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0, 0, 0, 0, 0] });
  const erp = await store.erp(10);
  const [id = ''] = await store.event([{ d: erp }]);
  const name = erp.slice(4);
  return {
    store,
    id,
    ledger: async () => {
      const ledger = await store.ledger();
      return {
        expected: ledger[`expected:${name}`] ?? 0,
        postings: ledger[`postings:${name}`] ?? 0,
        resolved: ledger[`resolved:${name}`] ?? 0,
      };
    },
    /** Begins an attempt and lets its process die; its result may still come. */
    lost: async () => {
      const go = await store.go(id);
      await store.lapse(id);
      await store.transitions.sweepAlarms('erp', 10);
      return go;
    },
  };
}

test('a creating answer is one posting, however often it is reported', async () => {
  const { store, id, ledger } = await posting();
  const go = await store.go(id);
  await store.end(go, 'posted', { receipt: 'R1' });
  await store.end(go, 'posted', { receipt: 'R1' });
  expect(await ledger()).toEqual({ expected: 1, postings: 1, resolved: 0 });
  expect(await store.field(id, 'receipt')).toBe('R1');
});

test('a document that only a look-up revealed is one posting, found once or often', async () => {
  const { store, id, ledger } = await posting();
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'already_posted');
  for (let replays = 0; replays < 2; replays += 1)
    await store.end(await store.goReplay(id, { acknowledged: true }), 'already_posted');
  expect(await ledger()).toEqual({ expected: 1, postings: 1, resolved: 0 });
});

test('finding what was created is not another posting', async () => {
  const { store, id, ledger } = await posting();
  await store.attempt(id, 'posted');
  await store.end(await store.goReplay(id, { acknowledged: true }), 'already_posted');
  expect((await ledger()).postings).toBe(1);
});

test('a creating answer that comes after its document was found explains the find and is not counted again', async () => {
  const { store, id, ledger, lost } = await posting();
  const slow = await lost();
  await store.attempt(id, 'already_posted');
  expect((await ledger()).postings).toBe(1);
  expect((await store.end(slow, 'posted', { receipt: 'R1' })).kind).toBe('late');
  expect((await ledger()).postings).toBe(1);
  expect(await store.field(id, 'receipt')).toBe('R1');
});

test('a second creating answer is a second posting: a double must show', async () => {
  const { store, id, ledger, lost } = await posting();
  const slow = await lost();
  await store.attempt(id, 'posted');
  await store.end(slow, 'posted');
  await store.end(slow, 'posted'); // and once more, as a resent command
  expect((await ledger()).postings).toBe(2);
});

test('two late creating answers after a find are two documents', async () => {
  const { store, id, ledger, lost } = await posting();
  const [first, second] = [await lost(), await lost()];
  await store.attempt(id, 'already_posted');
  await store.end(first, 'posted');
  await store.end(second, 'posted');
  expect((await ledger()).postings).toBe(2);
});

test('failures, unknowns and refusals are no postings', async () => {
  const { store, id, ledger } = await posting();
  await store.attempt(id, 'failed');
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'rejected');
  expect((await ledger()).postings).toBe(0);
});

test('a dead letter that a person resolved is owed no more', async () => {
  const { store, id, ledger } = await posting();
  await store.attempt(id, 'rejected');
  await store.transitions.resolve(id, 'default', 'posted by hand', 'ada');
  await store.transitions.resolve(id, 'default', 'posted by hand', 'ada');
  expect(await ledger()).toEqual({ expected: 1, postings: 0, resolved: 1 });
});

test('a document that a person made under our reference is counted, also where that is said after the dead letter was resolved', async () => {
  for (const first of [true, false]) {
    const { store, id, ledger } = await posting();
    await store.attempt(id, 'rejected');
    await store.transitions.resolve(id, 'default', 'posted by hand', 'ada', first);
    for (let n = 0; n < 2; n += 1)
      await store.transitions.resolve(id, 'default', 'posted by hand', 'ada', true);
    expect(await store.status(id)).toBe('resolved');
    expect(await ledger()).toEqual({ expected: 1, postings: 1, resolved: 0 });
  }
});

test('resolving what was posted once takes nothing off what is owed', async () => {
  const { store, id, ledger } = await posting();
  await store.attempt(id, 'posted');
  await store.replay(id, { mode: 'restart', acknowledged: true });
  await store.attempt(id, 'rejected');
  await store.transitions.resolve(id, 'default', 'is there', 'ada');
  expect(await ledger()).toEqual({ expected: 1, postings: 1, resolved: 0 });
});

test.each([
  { told: 'settled otherwise', posted: false },
  { told: 'posted by hand', posted: true },
])(
  'a posting that turns up after a person resolved its dead letter as $told is owed once, so that the ratio stays 1',
  async ({ posted }) => {
    const { store, id, ledger, lost } = await posting();
    const slow = await lost();
    await store.attempt(id, 'rejected');
    await store.attempt(id, 'absent');
    expect(await store.status(id)).toBe('dead_letter');
    await store.transitions.resolve(id, 'default', 'settled', 'ada', posted);
    expect(await ledger()).toEqual({ expected: 1, postings: posted ? 1 : 0, resolved: posted ? 0 : 1 });
    expect(await store.redis.smembers(store.keys.settled)).toEqual(posted ? [id] : []);
    await store.end(slow, 'posted');
    expect(await ledger()).toEqual({ expected: 1, postings: 1, resolved: 0 });
    expect(await store.status(id)).toBe('sent');
    expect(await store.redis.smembers(store.keys.settled)).toEqual([]);
  },
);

test('an attempt of a replay that was in flight while a person resolved is still closed when its process dies', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'rejected');
  await store.goReplay(id);
  await store.transitions.resolve(id, 'default', 'settled', 'ada');
  await store.lapse(id);
  await store.transitions.sweepAlarms('erp', 10);
  expect(await store.number(id, 'run')).toBe(0);
  expect(await store.status(id)).toBe('resolved');
  await store.transitions.sweepAlarms('erp', 10);
  expect(await store.alarms('erp')).toEqual([]);
});
