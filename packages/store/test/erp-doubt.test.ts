import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { AT_ONCE, BREAKER, Store } from './support/store.ts';

const SETTLE_MS = 30_000;
const TWO = { scheduleMs: [0, 1_000] };

async function posting(
  policy: Parameters<Store['erp']>[1] = {},
  own: ConstructorParameters<typeof Store>[0] = AT_ONCE,
) {
  const store = new Store(own);
  const erp = await store.erp(10, { settleMs: SETTLE_MS, ...TWO, ...policy });
  const [id = ''] = await store.event([{ d: erp }]);
  return { store, erp, id };
}

test('after an unknown outcome the next attempt waits the settle time at least, and knows that it must look first', async () => {
  const { store, id } = await posting();
  const answer = await store.attempt(id, 'unknown');
  expect(answer).toMatchObject({ status: 'failed', alarms: [{ waitMs: SETTLE_MS }] });
  expect(await store.go(id)).toMatchObject({ attempt: 2, doubt: true, lookupFor: '' });
});

test('a wait of the schedule that is longer than the settle time stays', async () => {
  const { store, id } = await posting({ scheduleMs: [0, 60_000] });
  expect((await store.attempt(id, 'unknown')).alarms[0]?.waitMs).toBe(60_000);
});

test('a failure that was surely not applied leaves no doubt', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'failed');
  expect(await store.go(id)).toMatchObject({ doubt: false });
});

test('doubt outlives later attempts that failed: what was perhaps applied stays perhaps applied', async () => {
  const { store, id } = await posting({ scheduleMs: [0, 0, 0, 0] });
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'failed');
  expect(await store.go(id)).toMatchObject({ doubt: true });
});

test('a crash is an unknown outcome: the repeated attempt waits the settle time and looks first', async () => {
  const { store, id } = await posting({}, {});
  await store.go(id);
  await store.lapse(id);
  const [alarm] = await store.transitions.sweepAlarms('erp', 10);
  expect(alarm?.waitMs).toBeGreaterThan(SETTLE_MS - 1_000);
  expect((await store.begin(id, alarm?.alarmId)).kind).toBe('early');
  const later = store.under(AT_ONCE);
  expect(await later.beginAttempt(id, alarm?.alarmId ?? '', newId())).toMatchObject({
    kind: 'go',
    go: { doubt: true },
  });
});

test('attempts used up in doubt: look-up-only attempts follow until one is answered', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'unknown');
  const answer = await store.attempt(id, 'failed');
  expect(answer).toMatchObject({ status: 'failed', alarms: [{ waitMs: SETTLE_MS }] });
  const waits: (number | undefined)[] = [];
  for (let lookup = 0; lookup < 6; lookup += 1) {
    const go = await store.go(id);
    expect(go).toMatchObject({ doubt: true, lookupFor: 'exhausted' });
    const unanswered = await store.end(go, 'failed', { class: 'lookup_failed' });
    expect(unanswered.status).toBe('failed');
    waits.push(unanswered.alarms[0]?.waitMs);
  }
  expect(waits).toEqual([60_000, 120_000, 240_000, 300_000, 300_000, 300_000]);
  expect(await store.number(id, 'scheduleMade')).toBe(2);
  expect(await store.attempt(id, 'absent')).toMatchObject({ status: 'dead_letter', alarms: [] });
  expect(await store.field(id, 'reason')).toBe('exhausted');
});

test('a look-up-only attempt that finds the document makes the delivery sent', async () => {
  const { store, erp, id } = await posting();
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'failed');
  expect((await store.attempt(id, 'already_posted', { receipt: 'R1' })).status).toBe('sent');
  expect(await store.field(id, 'receipt')).toBe('R1');
  expect(await store.number(id, 'scheduleMade')).toBe(2); // a look-up uses up no scheduled attempt
  expect(await store.ledger()).toMatchObject({ [`postings:${erp.slice(4)}`]: 1 });
});

test('a look-up-only attempt whose process died is repeated for ever, never given up', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'rejected');
  for (let death = 0; death < 6; death += 1) {
    expect(await store.go(id)).toMatchObject({ lookupFor: 'rejected' });
    await store.lapse(id);
    await store.transitions.sweepAlarms('erp', 10);
    expect(await store.status(id)).toBe('failed');
  }
  expect(await store.number(id, 'scheduleMade')).toBe(2);
});

test('attempts used up without doubt: dead_letter at once, there is nothing to look up', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'failed');
  expect(await store.attempt(id, 'failed')).toMatchObject({ status: 'dead_letter', alarms: [] });
});

test('a refused document is dead at once when nothing is in doubt, else after a look-up, for its own reason', async () => {
  const plain = await posting();
  expect((await plain.store.attempt(plain.id, 'rejected')).status).toBe('dead_letter');
  expect(await plain.store.field(plain.id, 'reason')).toBe('rejected');

  const { store, id } = await posting();
  await store.attempt(id, 'unknown');
  expect(await store.attempt(id, 'rejected')).toMatchObject({
    status: 'failed',
    alarms: [{ waitMs: SETTLE_MS }],
  });
  expect(await store.go(id)).toMatchObject({ lookupFor: 'rejected' });
  await store.lapse(id);
  await store.transitions.sweepAlarms('erp', 10);
  await store.attempt(id, 'absent');
  expect(await store.field(id, 'reason')).toBe('rejected');
});

test('a mapping that fails is a dead letter with that name', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'rejected', { class: 'mapping' });
  expect(await store.field(id, 'reason')).toBe('mapping_failed');
});

test('a mapping that fails where something may have been posted is dead only after a look-up has found nothing', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'unknown');
  expect((await store.attempt(id, 'rejected', { class: 'mapping' })).status).toBe('failed');
  expect(await store.go(id)).toMatchObject({ lookupFor: 'mapping_failed' });
  await store.lapse(id);
  await store.transitions.sweepAlarms('erp', 10);
  await store.attempt(id, 'absent');
  expect(await store.field(id, 'reason')).toBe('mapping_failed');
});

test('a look-up that cannot even be asked for is not repeated for ever: a person gets it, and a replay looks first', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'rejected', { class: 'mapping' });
  const answer = await store.attempt(id, 'rejected', { class: 'mapping' });
  expect(answer).toMatchObject({ status: 'dead_letter', alarms: [] });
  expect(await store.field(id, 'reason')).toBe('unknown_outcome');
  const asked = await store.replay(id);
  if (asked.kind !== 'ok') throw new Error(`the replay was refused: ${asked.kind}`);
  expect(await store.go(id, asked.alarm.alarmId)).toMatchObject({ trigger: 'replay', doubt: true });
});

test('a document of another event under our reference is dead at once, also when a final look-up finds it', async () => {
  const plain = await posting();
  expect((await plain.store.attempt(plain.id, 'reference_conflict')).status).toBe('dead_letter');
  expect(await plain.store.field(plain.id, 'reason')).toBe('reference_conflict');
  const { store, id } = await posting();
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'failed');
  await store.attempt(id, 'reference_conflict');
  expect(await store.field(id, 'reason')).toBe('reference_conflict');
});

test('an ERP that can neither look up nor dedupe gets its unknowns dead-lettered, and nothing begins again', async () => {
  const { store, id } = await posting({ canFind: false, dedupes: false });
  expect(await store.attempt(id, 'unknown')).toMatchObject({ status: 'dead_letter', alarms: [] });
  expect(await store.field(id, 'reason')).toBe('unknown_outcome');
  expect(await store.begin(id)).toEqual({ kind: 'stale', arm: undefined });
  expect(await store.transitions.sweepAlarms('erp', 10)).toEqual([]);
});

test('the same after a crash, whoever finds it', async () => {
  const finders = {
    sweep: (store: Store) => store.transitions.sweepAlarms('erp', 10),
    begin: (store: Store, id: string) => store.begin(id),
  };
  const seen: unknown[] = [];
  for (const find of Object.values(finders)) {
    const { store, id } = await posting({ canFind: false, dedupes: false });
    await store.go(id);
    await store.lapse(id);
    seen.push(await find(store, id));
    expect(await store.status(id)).toBe('dead_letter');
    expect(await store.field(id, 'reason')).toBe('unknown_outcome');
    expect(await store.alarms('erp')).toEqual([]);
  }
  expect(seen).toEqual([[], { kind: 'stale', arm: undefined }]);
});

test('and after the crash of a replay, which is not repeated either', async () => {
  const { store, id } = await posting({ canFind: false, dedupes: false });
  await store.attempt(id, 'failed');
  const replay = await store.goReplay(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('erp', 10);
  expect(await store.field(id, 'reason')).toBe('unknown_outcome');
  expect(await store.begin(id, replay.alarmId)).toEqual({ kind: 'stale', arm: undefined });
});

test('an ERP that dedupes by itself may simply be posted to again', async () => {
  const { store, id } = await posting({ canFind: false, dedupes: true });
  expect((await store.attempt(id, 'unknown')).status).toBe('failed');
  expect((await store.go(id)).doubt).toBe(true);
});

test('a replay too waits until a look-up can prove something', async () => {
  const { store, id } = await posting({}, {});
  await store.attempt(id, 'unknown');
  const asked = await store.replay(id);
  const alarmId = asked.kind === 'ok' ? asked.alarm.alarmId : '';
  const answer = await store.begin(id, alarmId);
  expect(answer.kind).toBe('early');
  expect(answer.kind === 'early' && answer.waitMs).toBeGreaterThan(SETTLE_MS - 1_000);
});

test('so does the first attempt of a restarted schedule, and one whose predecessor died as a replay', async () => {
  const { store, id } = await posting({ scheduleMs: [0] }, {});
  await store.attempt(id, 'unknown');
  const asked = await store.replay(id, { mode: 'restart' });
  expect((await store.begin(id, asked.kind === 'ok' ? asked.alarm.alarmId : '')).kind).toBe('early');

  const other = await posting({}, {});
  await other.store.attempt(other.id, 'failed');
  const replay = await other.store.goReplay(other.id);
  await other.store.lapse(other.id);
  await other.store.transitions.sweepAlarms('erp', 10);
  expect((await other.store.begin(other.id, replay.alarmId)).kind).toBe('early');
});

test('a late unknown is a doubt as well', async () => {
  const { store, id } = await posting({ scheduleMs: [0, 0, 0] });
  const slow = await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('erp', 10);
  await store.redis.hset(store.keys.delivery(id), 'doubt', 0); // as a look-up that came too early would leave it
  expect((await store.end(slow, 'unknown')).kind).toBe('late');
  expect((await store.go(id)).doubt).toBe(true);
});

test('the breaker hears of look-ups that nobody answers', async () => {
  const { store, erp, id } = await posting({ breaker: { ...BREAKER, consecutive: 3 } });
  await store.attempt(id, 'unknown');
  await store.attempt(id, 'failed');
  await store.attempt(id, 'failed', { class: 'lookup_failed' });
  expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'breaker' });
  expect(await store.waiting(erp)).toHaveLength(1);
});

test('a dead letter whose replay ends unknown is looked up again, and dies again for its first reason', async () => {
  const { store, id } = await posting({ scheduleMs: [0] });
  await store.attempt(id, 'failed');
  expect(await store.field(id, 'reason')).toBe('exhausted');
  const answer = await store.end(await store.goReplay(id), 'unknown');
  expect(answer).toMatchObject({ status: 'failed', alarms: [{ waitMs: SETTLE_MS }] });
  expect(await store.go(id)).toMatchObject({ trigger: 'schedule', lookupFor: 'exhausted' });

  const found = await posting({ scheduleMs: [0] });
  await found.store.attempt(found.id, 'failed');
  await found.store.end(await found.store.goReplay(found.id), 'unknown');
  expect((await found.store.attempt(found.id, 'already_posted')).status).toBe('sent');
});

test('what may be at an ERP that can neither look up nor dedupe is replayed only with an acknowledgement', async () => {
  const { store, id } = await posting({ canFind: false, dedupes: false });
  await store.attempt(id, 'unknown');
  expect(await store.status(id)).toBe('dead_letter');
  expect((await store.replay(id)).kind).toBe('needs_acknowledgement');
  expect((await store.replay(id, { mode: 'restart' })).kind).toBe('needs_acknowledgement');
  expect((await store.replay(id, { acknowledged: true })).kind).toBe('ok');
});

test('a restarted schedule looks first, and is not restarted twice before it has begun', async () => {
  const { store, id } = await posting();
  await store.attempt(id, 'posted');
  expect((await store.replay(id, { mode: 'restart', acknowledged: true })).kind).toBe('ok');
  expect((await store.replay(id, { mode: 'restart', acknowledged: true })).kind).toBe('already');
  expect(await store.go(id)).toMatchObject({ doubt: true });
});
