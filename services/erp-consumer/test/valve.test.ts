import { expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { Valve } from '../src/valve.ts';

const POSTED = { kind: 'posted', receipt: 'R-1', code: '201' } as const;
const FAILED = { kind: 'failed', class: 'http_5xx', code: '503', message: 'down' } as const;

type Fleet = Awaited<ReturnType<ConstructorParameters<typeof Valve>[1]>>;

/** A valve of a fleet whose state is said here. */
function open(): { valve: Valve; fleet: { now: Fleet }; [Symbol.dispose]: () => void } {
  const fleet: { now: Fleet } = { now: { state: 'closed', waitMs: 0 } };
  const valve = new Valve('receipts', async () => fleet.now);
  return { valve, fleet, [Symbol.dispose]: () => valve.shutdown() };
}

test('failures alone never open it: that is the fleet’s to decide', async () => {
  using opened = open();
  for (let nth = 0; nth < 50; nth += 1)
    expect(await opened.valve.run(false, async () => FAILED)).toEqual(FAILED);
  expect(await opened.valve.run(false, async () => POSTED)).toEqual(POSTED);
});

test('while the fleet’s is open no call is made here, and nothing is used up', async () => {
  using opened = open();
  opened.fleet.now = { state: 'open', waitMs: 60_000 };
  await opened.valve.refresh();
  let calls = 0;
  const call = async () => ((calls += 1), POSTED);
  expect(await opened.valve.run(false, call)).toMatchObject({ kind: 'deferred' });
  expect(calls).toBe(0);
  expect(await opened.valve.run(true, call)).toEqual(POSTED); // the fleet chose this one to ask
});

test('when the fleet’s has closed, every call goes through at once, also before the next look at it', async () => {
  using opened = open();
  opened.fleet.now = { state: 'open', waitMs: 20 };
  await opened.valve.refresh();
  let looks = 0;
  await waitUntil(() => (looks += 1) > 5, { what: 'the time of the probe to come' }); // another replica makes it
  opened.fleet.now = { state: 'closed', waitMs: 0 };
  const answer = Promise.withResolvers<typeof POSTED>();
  const running = [1, 2, 3].map(() => opened.valve.run(false, () => answer.promise));
  answer.resolve(POSTED);
  expect(await Promise.all(running)).toEqual([POSTED, POSTED, POSTED]);
});
