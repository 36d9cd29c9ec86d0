import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pause } from '@breakwater/runtime/poll';
import { readDelivery } from '@breakwater/store/deliveries';
import { readLedger } from '@breakwater/store/ledger';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { createRig, destination, FAILED, type Rig, SENT } from './support.ts';

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;
const other = 'ep_BBBBBBBBBBBBBBBBBBBBBB';
let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

const GONE = { outcome: 'gone', class: 'http_gone', code: '410' } as const;
const deadIds = async (count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) ids.push(await rig.deadLetter(`evt_${number}`));
  return ids;
};
const openReplays = async (ids: readonly string[]): Promise<string[]> => {
  const replays = await Promise.all(ids.map((id) => rig.redis.hget(rig.keys.delivery(id), 'replayId')));
  return ids.filter((_, index) => replays[index]);
};

test('list filters by reason and pages through what is left', async () => {
  const exhausted = await deadIds(3);
  const [gone = ''] = await rig.recordEvent('evt_gone', [other]);
  await rig.attempt(gone, GONE);
  const ask = async (...args: string[]) =>
    (await rig.cli(['dead-letters', 'list', ...args, '--json'])).json();
  expect((await ask('--reason', 'gone')).deliveries.map((each: { id: string }) => each.id)).toEqual([gone]);
  const first = await ask('--reason', 'exhausted', '--limit', '2');
  expect(first.nextOffset).toBe(2);
  const second = await ask('--reason', 'exhausted', '--limit', '2', '--offset', '2');
  expect(second.nextOffset).toBeNull();
  expect([...first.deliveries, ...second.deliveries].map((each): string => each.id).toSorted()).toEqual(
    exhausted.toSorted(),
  );
  expect((await ask('--operator', 'other')).deliveries).toEqual([]);
});

test('--all replays what the filters choose and nothing else', async () => {
  const exhausted = await deadIds(2);
  const elsewhere = await rig.deadLetter('evt_else', other);
  const [slow = ''] = await rig.recordEvent('evt_slow', [destination('endpoint')]);
  await rig.attempt(slow, { outcome: 'failed', class: 'timeout_response', code: '' });
  const [gone = ''] = await rig.recordEvent('evt_gone', [destination('endpoint')]);
  await rig.attempt(gone, GONE);
  const foreign = await rig.deadLetter('evt_foreign', destination('endpoint'), 'somebody');
  const filters = ['--endpoint', destination('endpoint'), '--class', 'http_5xx', '--reason-is', 'exhausted'];
  const rehearsed = (
    await rig.cli(['dead-letters', 'replay', '--all', ...filters, '--reason', 'fixed', '--dry-run', '--json'])
  ).json();
  expect(rehearsed).toMatchObject({ dryRun: true, wouldReplay: 2 });
  expect(await openReplays(exhausted)).toEqual([]);
  const { code, json } = await rig.cli([
    'dead-letters',
    'replay',
    '--all',
    ...filters,
    '--reason',
    'fixed',
    '--rate',
    '1000/s',
    '--json',
  ]);
  expect(code).toBe(0);
  expect(json()).toMatchObject({ replayed: 2, refused: [], stopped: false });
  const all = [...exhausted, elsewhere, slow, gone, foreign];
  expect((await openReplays(all)).toSorted()).toEqual(exhausted.toSorted());
  expect((await rig.audit()).filter((entry) => entry['action'] === 'delivery.replay')).toHaveLength(2);
});

test('one refusal does not stop the others, and decides the exit code', async () => {
  const [first = '', second = ''] = await deadIds(2);
  const [pending = ''] = await rig.recordEvent('evt_pending', [destination('endpoint')]);
  const { code, json } = await rig.cli([
    'dead-letters',
    'replay',
    first,
    pending,
    'nothing',
    second,
    first,
    '--reason',
    'fixed',
    '--json',
  ]);
  expect(code).toBe(4);
  expect(json().replays.map((each: { delivery: string }) => each.delivery)).toEqual([first, second]);
  expect(json().refused).toEqual([
    expect.objectContaining({ delivery: pending, message: `${pending} is pending, not a dead letter.` }),
    expect.objectContaining({ delivery: 'nothing', code: 'not_found' }),
  ]);
});

test('a single id that cannot be replayed is an error of the command', async () => {
  const [id = ''] = await deadIds(1);
  expect((await rig.cli(['dead-letters', 'replay', 'nothing', '--reason', 'x'])).code).toBe(3);
  expect((await rig.cli(['dead-letters', 'replay', id, '--reason', 'x', '--operator', 'other'])).code).toBe(
    3,
  );
  expect((await rig.cli(['dead-letters', 'replay', 'nothing', '--reason', 'x', '--dry-run'])).code).toBe(3);
});

test('ids and --all exclude each other, and filters need --all', async () => {
  for (const args of [
    [],
    ['x', '--all'],
    ['x', '--class', 'http_5xx'],
    ['--target', 'receipts'],
    ['--all', '--rate', 'fast'],
  ]) {
    const { code } = await rig.cli(['dead-letters', 'replay', ...args, '--reason', 'x']);
    expect({ args, code }).toEqual({ args, code: 2 });
  }
});

test('--wait counts what became of every replay, and ends with 1 unless all were sent', async () => {
  const [first = '', second = ''] = await deadIds(2);
  const running = rig.cli([
    'dead-letters',
    'replay',
    first,
    second,
    '--reason',
    'fixed',
    '--rate',
    '1000/s',
    '--wait',
    '--json',
  ]);
  await waitUntil(async () => (await openReplays([first, second])).length === 2, { what: 'both replays' });
  await rig.attempt(first, SENT);
  await rig.attempt(second, FAILED);
  const { code, json } = await running;
  expect(code).toBe(1);
  expect(json()).toMatchObject({
    replayed: 2,
    results: { sent: 1, failed: 1, open: 0 },
    replays: [{ result: 'sent' }, { result: 'failed' }],
  });
});

test('--wait says of every replay that failed why, and where to read more', async () => {
  const [first = '', second = ''] = await deadIds(2);
  const args = ['dead-letters', 'replay', first, second, '--reason', 'x', '--rate', '1000/s', '--wait'];
  const replay = async (...more: string[]) => {
    const running = rig.cli([...args, ...more]);
    await waitUntil(async () => (await openReplays([first, second])).length === 2, { what: 'both replays' });
    await rig.attempt(first, FAILED);
    await rig.attempt(second, { outcome: 'failed', class: 'timeout_response', code: '' });
    return running;
  };
  const { code, stdout } = await replay();
  expect(code).toBe(1);
  expect(stdout).toBe(
    [
      '2 replays were asked for: 0 sent, 2 failed, 0 without a result yet.',
      '2 failed:',
      `  http_5xx 503, see: deliveries show ${first}`,
      `  timeout_response, see: deliveries show ${second}`,
      '',
    ].join('\n'),
  );
  expect((await replay('--json')).json().replays).toEqual([
    expect.objectContaining({ delivery: first, result: 'failed', class: 'http_5xx', code: '503' }),
    expect.objectContaining({ delivery: second, result: 'failed', class: 'timeout_response', code: '' }),
  ]);
});

test('one is one: nothing is told of 1 replays', async () => {
  const [id = ''] = await deadIds(1);
  const replay = ['dead-letters', 'replay', id, 'nothing', '--reason', 'x'];
  const dry = await rig.cli([...replay, '--dry-run']);
  expect(dry.stdout).toMatch(/^1 dead letter would be replayed\./);
  expect(dry.stdout).toContain('\n1 would be refused:\n');
  const { stdout } = await rig.cli(replay);
  expect(stdout).toMatch(/^1 replay was asked for\.\n1 was refused:\n/);
  const late = await rig.cli([...replay, '--wait', '--timeout', '1ms']);
  expect(late.stdout).toMatch(/^0 replays were asked for/);
  expect((await rig.cli(['deliveries', 'show', id])).stdout).toMatch(/1 scheduled attempt, 0 replays/);
});

test('--restart begins the schedule again', async () => {
  const [id = ''] = await deadIds(1);
  expect((await rig.cli(['dead-letters', 'replay', id, '--reason', 'fixed', '--restart'])).code).toBe(0);
  expect(await readDelivery(rig.redis, rig.keys, 'default', id)).toMatchObject({
    status: 'failed',
    scheduleMade: 0,
  });
});

test('the rate is kept, and Ctrl-C stops between two replays with the truth about how far it came', async () => {
  const ids = await deadIds(3);
  // 6/m: the second replay comes ten seconds after the first, so the signal surely arrives between them.
  const child = spawn(
    process.execPath,
    [MAIN, 'dead-letters', 'replay', ...ids, '--reason', 'fixed', '--rate', '6/m', '--json'],
    {
      env: { ...process.env, ...rig.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (output.stderr += String(chunk)));
  const ended = once(child, 'close');
  await waitUntil(async () => (await openReplays(ids)).length > 0, {
    what: 'the first replay',
    timeoutMs: 20_000,
  });
  await pause(1_000); // time enough for the others, were there no rate
  child.kill('SIGINT');
  const [code] = await ended;
  expect({ code, stderr: output.stderr }).toEqual({ code: 1, stderr: '' });
  expect(JSON.parse(output.stdout)).toMatchObject({ replayed: 1, stopped: true });
  expect(await openReplays(ids)).toHaveLength(1);
});

test('resolve closes a dead letter, takes it from what an ERP is owed, and is audited', async () => {
  const [id = ''] = await rig.recordEvent('evt_erp', [destination('erp')]);
  await rig.attempt(id, { outcome: 'rejected', class: 'erp_rejected', code: '422' });
  const dry = await rig.cli([
    'dead-letters',
    'resolve',
    id,
    '--reason',
    'posted by hand',
    '--dry-run',
    '--json',
  ]);
  expect(dry.json()).toMatchObject({ dryRun: true, status: 'dead_letter' });
  expect((await readLedger(rig.redis, rig.keys)).resolved.get('receipts')).toBeUndefined();
  expect(
    (await rig.cli(['dead-letters', 'resolve', id, '--reason', 'posted by hand', '--json'])).json(),
  ).toMatchObject({ delivery: id, status: 'resolved' });
  expect((await readLedger(rig.redis, rig.keys)).resolved.get('receipts')).toBe(1);
  expect(await rig.audit()).toEqual([
    expect.objectContaining({ action: 'delivery.resolve', actor: 'cli:tess', reason: 'posted by hand' }),
  ]);
});

test('only a dead letter at rest can be resolved, by its own operator and with a reason', async () => {
  const [id = ''] = await deadIds(1);
  const [pending = ''] = await rig.recordEvent('evt_pending', [other]);
  const resolve = async (...args: string[]): Promise<number> =>
    (await rig.cli(['dead-letters', 'resolve', ...args])).code;
  expect(await resolve(pending, '--reason', 'x')).toBe(4);
  expect(await resolve(pending, '--reason', 'x', '--dry-run')).toBe(4);
  expect(await resolve(id, '--reason', 'x', '--operator', 'somebody')).toBe(3);
  expect(await resolve(id, '--reason', ' ')).toBe(2);
  expect(await resolve(id)).toBe(2);
  await rig.cli(['deliveries', 'replay', id, '--reason', 'x']);
  const replayId = await rig.redis.hget(rig.keys.delivery(id), 'replayId');
  await rig.transitions.beginAttempt(id, `${id}-r${replayId}`, 't');
  expect(await resolve(id, '--reason', 'x')).toBe(4);
  expect((await readDelivery(rig.redis, rig.keys, 'default', id))!.status).toBe('dead_letter');
});
