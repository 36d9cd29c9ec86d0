import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readDelivery, writeSample } from '@breakwater/store/deliveries';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type CliRun, createRig, destination, FAILED, type Rig, SENT } from './support.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

const idsOf = (page: { deliveries: { id: string }[] }): string[] => page.deliveries.map(({ id }) => id);
const other = 'ep_BBBBBBBBBBBBBBBBBBBBBB';

test('list pages through every delivery once and says where the next page begins', async () => {
  const all: string[] = [];
  for (let number = 0; number < 5; number += 1)
    all.push(...(await rig.recordEvent(`evt_${number}`, [destination('endpoint')])));
  const seen: string[] = [];
  let cursor: string[] = [];
  do {
    const page = (await rig.cli(['deliveries', 'list', '--limit', '2', ...cursor, '--json'])).json();
    seen.push(...idsOf(page));
    cursor = page.nextCursor === null ? [] : ['--cursor', page.nextCursor];
  } while (cursor.length > 0);
  expect(seen.toSorted()).toEqual(all.toSorted());
  expect((await rig.cli(['deliveries', 'list', '--limit', '2'])).stdout).toMatch(/more: --cursor \S+$/m);
});

test('the list never cuts why a delivery failed', async () => {
  const [id = ''] = await rig.recordEvent('evt_1', [destination('erp')]);
  await rig.attempt(id, { outcome: 'reference_conflict', class: 'connection_refused', code: 'ECONNREFUSED' });
  expect((await rig.cli(['deliveries', 'list'])).stdout).toContain(
    'reference_conflict: connection_refused ECONNREFUSED',
  );
});

test('list filters by status and destination, and shows no other operator anything', async () => {
  const dead = await rig.deadLetter('evt_dead');
  const [open = '', erp = ''] = await rig.recordEvent('evt_open', [other, destination('erp')]);
  const ask = async (...args: string[]) =>
    idsOf((await rig.cli(['deliveries', 'list', ...args, '--json'])).json());
  expect(await ask('--status', 'dead_letter')).toEqual([dead]);
  expect((await ask('--status', 'pending', '--status', 'dead_letter')).toSorted()).toEqual(
    [dead, open, erp].toSorted(),
  );
  expect(await ask('--endpoint', other)).toEqual([open]);
  expect(await ask('--target', 'receipts')).toEqual([erp]);
  expect(await ask('--event', 'evt_dead')).toEqual([dead]);
  expect(await ask('--class', 'http_5xx', '--source', 'shop', '--type', 'order.*')).toEqual([dead]);
  expect(await ask('--class', 'http_4xx')).toEqual([]);
  expect(await ask('--until', '1h')).toEqual([]);
  expect((await ask('--since', '1h')).toSorted()).toEqual([dead, open, erp].toSorted());
  expect(await ask('--operator', 'other')).toEqual([]);
  expect((await rig.cli(['--operator', 'other', 'deliveries', 'show', dead])).code).toBe(3);
});

test('show says where a delivery stands: position in the schedule, replays, lease and fence', async () => {
  const id = await rig.deadLetter('evt_1');
  const show = async () => (await rig.cli(['deliveries', 'show', id])).stdout;
  expect(await show()).toMatch(/^used +1 scheduled attempt, 0 replays$/m);
  expect(await show()).toMatch(/^lease +none: no attempt is in flight$/m);
  await rig.cli(['deliveries', 'replay', id, '--reason', 'x']);
  const replayId = await rig.redis.hget(rig.keys.delivery(id), 'replayId');
  expect(await show()).toMatch(new RegExp(`^open replay +${replayId}$`, 'm'));
  await rig.transitions.beginAttempt(id, `${id}-r${replayId}`, 't');
  expect(await show()).toMatch(/^lease +attempt 2 \(replay\), until 20.* \(in 1\ds\)$/m);
  expect(await show()).toMatch(/^fence +attempt 2$/m);
  const json = (await rig.cli(['deliveries', 'show', id, '--json'])).json();
  expect(json).toMatchObject({
    scheduleLength: null,
    scheduleMade: 1,
    replaysMade: 0,
    fence: 2,
    openReplay: replayId,
    lease: { attempt: 2, trigger: 'replay' },
  });
});

test("show says how long a schedule is where it is the destination's own, and guesses none for the services'", async () => {
  const env = { RETRY_SCHEDULE: '0s,1m,5m' }; // the command's environment, not the services'
  const add = async (...args: string[]): Promise<string> =>
    (await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/', ...args, '--json'])).json().id;
  const [follows = '', own = ''] = await rig.recordEvent('evt_1', [
    await add(),
    await add('--schedule', '0s,1s'),
  ]);
  const show = (id: string, ...args: string[]) => rig.cli(['deliveries', 'show', id, ...args], { env });
  expect((await show(follows)).stdout).toMatch(/^used +0 scheduled attempts, 0 replays$/m);
  expect((await show(own)).stdout).toMatch(/^used +0 scheduled attempts of 2, 0 replays$/m);
  expect((await show(follows, '--json')).json()).toMatchObject({ scheduleLength: null });
  expect((await show(own, '--json')).json()).toMatchObject({ scheduleLength: 2 });
});

test('a delivery and an event whose retention is over are told apart from those that never were', async () => {
  const [id = ''] = await rig.recordEvent('evt_old', [other]);
  const key = id.slice(0, id.indexOf('.'));
  await rig.redis.set(rig.keys.dedupe(key), 'job-that-has-ended', 'EX', 60);
  await rig.redis.del(rig.keys.delivery(id), rig.keys.event(key)); // as the sweeper does
  for (const args of [
    ['deliveries', 'show', id],
    ['deliveries', 'replay', id, '--reason', 'x'],
    ['dead-letters', 'replay', id, '--reason', 'x'],
    ['events', 'show', 'shop', 'evt_old'],
  ]) {
    const { code, stderr } = await rig.cli(args);
    expect({ args, code, over: stderr.includes('The retention of ') }).toEqual({ args, code: 3, over: true });
  }
  expect((await rig.cli(['events', 'show', 'shop', 'evt_never'])).stderr).toContain('was not accepted');
});

test('show tells the whole story: attempts, remedy, answer, next attempt', async () => {
  const id = await rig.deadLetter('evt_1');
  await writeSample(rig.redis, rig.keys, id, 1, {
    contentType: 'text/plain',
    text: 'busy\u001B[2J\nstatus  sent',
    truncated: true,
  });
  const { stdout } = await rig.cli(['deliveries', 'show', id]);
  expect(stdout).toMatch(/^status +dead_letter \(exhausted\)$/m);
  expect(stdout).toMatch(/^event +shop\/evt_1$/m);
  expect(stdout).toMatch(/^1 +20\S+ \S+Z \(.*\) +schedule +failed +http_5xx +503 /m);
  expect(stdout).toContain(
    "http_5xx: The receiver failed: read its answer and its logs; it is retried while attempts are left. (the receiver's turn)",
  );
  expect(stdout).toContain('Answer to attempt 1 (text/plain, cut):\n  | busy\\u001b[2J\n  | status  sent');
  expect(stdout).not.toContain('\u001B');

  const json = (await rig.cli(['deliveries', 'show', id, '--json'])).json();
  expect(json).toMatchObject({
    id,
    status: 'dead_letter',
    reason: 'exhausted',
    attempts: [{ number: 1, class: 'http_5xx', code: '503', trigger: 'schedule' }],
    nextAttemptAt: null,
    blame: { http_5xx: 'subscriber' },
  });
  expect(json.sample.text).toBe('busy\u001B[2J\nstatus  sent');
  expect(Object.keys(json.remedies)).toEqual(['http_5xx']);
});

test('an event id from outside cannot write to the terminal', async () => {
  const [id = ''] = await rig.recordEvent('evt\u001B]0;owned\u0007', [destination('endpoint')]);
  for (const args of [
    ['deliveries', 'list'],
    ['deliveries', 'show', id],
    ['deliveries', 'list', '--json'],
  ]) {
    const { stdout } = await rig.cli(args);
    expect(stdout).toContain(String.raw`evt\u001b]0;owned\u0007`);
    expect(stdout).not.toContain('\u001B');
  }
});

test('a replay adds one attempt, is audited, and leaves the dead letter as it is until it succeeds', async () => {
  const id = await rig.deadLetter('evt_1');
  const { code, json } = await rig.cli(['deliveries', 'replay', id, '--reason', 'receiver fixed', '--json']);
  expect(code).toBe(0);
  expect(json()).toMatchObject({
    ok: true,
    delivery: id,
    mode: 'single',
    notice: expect.stringContaining('not the money'),
  });
  expect((await readDelivery(rig.redis, rig.keys, 'default', id))!.status).toBe('dead_letter');
  expect(await rig.audit()).toEqual([
    expect.objectContaining({
      action: 'delivery.replay',
      actor: 'cli:tess',
      delivery: id,
      reason: 'receiver fixed',
      mode: 'single',
      replay: json().replayId,
    }),
  ]);
  for (const dry of [['--dry-run'], []]) {
    const again = await rig.cli(['deliveries', 'replay', id, '--reason', 'impatient', '--json', ...dry]);
    expect(outcome(again)).toBe('4 replay_open');
  }
  await rig.attempt(id, SENT);
  expect((await readDelivery(rig.redis, rig.keys, 'default', id))!).toMatchObject({
    status: 'sent',
    replaysMade: 1,
  });
});

test('--wait ends with 0 when the replay was sent and with 1 when it failed', async () => {
  for (const [end, wanted] of [
    [SENT, { code: 0, result: 'sent' }],
    [FAILED, { code: 1, result: 'failed' }],
  ] as const) {
    const id = await rig.deadLetter(`evt_${wanted.result}`);
    const running = rig.cli(['deliveries', 'replay', id, '--reason', 'fixed', '--wait', '--json']);
    await waitUntil(() => rig.redis.hget(rig.keys.delivery(id), 'replayId'), { what: 'the replay' });
    await rig.attempt(id, end);
    const { code, json } = await running;
    expect({ code, result: json().result }).toEqual(wanted);
  }
});

test('--wait does not take an earlier success for the result of a failed replay', async () => {
  const [id = ''] = await rig.recordEvent('evt_1', [destination('endpoint')]);
  await rig.attempt(id, SENT);
  const running = rig.cli([
    'deliveries',
    'replay',
    id,
    '--reason',
    'lost',
    '--acknowledge-duplicates',
    '--wait',
    '--json',
  ]);
  await waitUntil(() => rig.redis.hget(rig.keys.delivery(id), 'replayId'), { what: 'the replay' });
  await rig.attempt(id, FAILED);
  const { code, json } = await running;
  expect(code).toBe(1);
  expect(json()).toMatchObject({ result: 'failed', status: 'sent' });
});

test('--wait with --restart ends with the first attempt of the new schedule', async () => {
  const id = await rig.deadLetter('evt_1');
  const running = rig.cli(['deliveries', 'replay', id, '--reason', 'fixed', '--restart', '--wait', '--json']);
  await waitUntil(async () => (await readDelivery(rig.redis, rig.keys, 'default', id))!.status === 'failed', {
    what: 'the restart',
  });
  await rig.attempt(id, SENT);
  expect((await running).json()).toMatchObject({ ok: true, mode: 'restart', result: 'sent', status: 'sent' });
});

test('--wait gives up after --timeout, and says that the replay stays queued', async () => {
  const id = await rig.deadLetter('evt_1');
  const { code, stdout, stderr } = await rig.cli([
    'deliveries',
    'replay',
    id,
    '--reason',
    'fixed',
    '--wait',
    '--timeout',
    '300ms',
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain('Replay repeats the message, not the money.');
  expect(stdout).toContain('The replay stays queued');
});

const outcome = ({ code, stderr }: CliRun): string =>
  code === 0 ? 'ok' : `${code} ${JSON.parse(stderr).error.code}`;

test('a replay is refused in flight, to a paused destination and after a success, each with code 4', async () => {
  const dry = async (id: string, ...more: string[]) => {
    const replay = ['deliveries', 'replay', id, '--reason', 'x', '--json', ...more];
    const rehearsed = outcome(await rig.cli([...replay, '--dry-run']));
    expect(outcome(await rig.cli(replay))).toBe(rehearsed);
    return rehearsed;
  };
  const [running = ''] = await rig.recordEvent('evt_running', [destination('endpoint')]);
  await rig.transitions.beginAttempt(running, `${running}-1`, 't');
  expect(await dry(running)).toBe('4 in_flight');

  const [sent = ''] = await rig.recordEvent('evt_sent', [other]);
  await rig.attempt(sent, SENT);
  expect(await dry(sent)).toBe('4 acknowledgement_needed');
  expect(await dry(sent, '--acknowledge-duplicates')).toBe('ok');

  const resolved = await rig.deadLetter('evt_resolved', other);
  await rig.transitions.resolve(resolved, 'default', 'by hand', 'test');
  expect(await dry(resolved)).toBe('4 wrong_status');

  const held = await rig.deadLetter('evt_held', other);
  await rig.transitions.setGate(other, 'pause', { operator: 'default', reason: '', actor: 'test' });
  expect(await dry(held)).toBe('4 destination_paused');
  expect(await dry(held, '--operator', 'somebody')).toBe('3 not_found');
});

test('a dry run of replay changes nothing', async () => {
  const id = await rig.deadLetter('evt_1');
  const before = await rig.redis.hgetall(rig.keys.delivery(id));
  expect(
    (await rig.cli(['deliveries', 'replay', id, '--reason', 'x', '--dry-run', '--json'])).json(),
  ).toMatchObject({ dryRun: true, delivery: id });
  expect(await rig.redis.hgetall(rig.keys.delivery(id))).toEqual(before);
});

test('a reason of blanks is no reason', async () => {
  const id = await rig.deadLetter('evt_1');
  expect((await rig.cli(['deliveries', 'replay', id, '--reason', '  '])).code).toBe(2);
});
