import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ReplayRun } from '@breakwater/contracts/replay-run';
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
  const second = await ask('--reason', 'exhausted', '--limit', '2', '--cursor', first.nextCursor);
  expect(second.nextCursor).toBeNull();
  expect([...first.deliveries, ...second.deliveries].map((each): string => each.id).toSorted()).toEqual(
    exhausted.toSorted(),
  );
  expect((await ask('--operator', 'other')).deliveries).toEqual([]);
});

test('groups says how many dead letters each destination has of each class', async () => {
  await deadIds(2);
  const [gone = ''] = await rig.recordEvent('evt_gone', [other]);
  await rig.attempt(gone, GONE);
  const { code, json } = await rig.cli(['dead-letters', 'groups', '--json']);
  expect(code).toBe(0);
  const { groups, nextCursor } = json();
  expect(nextCursor).toBeNull();
  expect(
    groups.map((each: { destination: { id: string }; failureClass: string; count: number }) => [
      each.destination.id,
      each.failureClass,
      each.count,
    ]),
  ).toEqual([
    [destination('endpoint'), 'http_5xx', 2],
    [other, 'http_gone', 1],
  ]);
  const page = await rig.cli(['dead-letters', 'groups', '--limit', '1']);
  expect(page.stdout).toMatch(/http_5xx +2 /);
  const [, cursor = ''] = /More: --cursor (\S+)/.exec(page.stdout) ?? [];
  expect((await rig.cli(['dead-letters', 'groups', '--limit', '1', '--cursor', cursor])).stdout).toMatch(
    /http_gone +1 /,
  );
  expect((await rig.cli(['dead-letters', 'groups', '--operator', 'other'])).stdout).toBe(
    'No dead letters.\n',
  );
});

const replay = (...args: string[]) => rig.cli(['dead-letters', 'replay', ...args, '--reason', 'fixed']);
/** Asked for by the run, waiting for its attempt. */
const bulkReplays = async (ids: readonly string[], run: string): Promise<string[]> => {
  const replays = await Promise.all(ids.map((id) => rig.redis.hget(rig.keys.delivery(id), 'replayId')));
  return ids.filter((_, index) => replays[index] === `bulk.${run}`);
};
const onlyRun = async (): Promise<ReplayRun> => {
  const [run] = (await rig.cli(['replays', 'list', '--json'])).json().replays as ReplayRun[];
  if (!run) throw new Error('no run yet');
  return run;
};

test('filters choose what is replayed and nothing else, and a rehearsal says the same', async () => {
  const exhausted = await deadIds(2);
  await rig.deadLetter('evt_else', other);
  const [slow = ''] = await rig.recordEvent('evt_slow', [destination('endpoint')]);
  await rig.attempt(slow, { outcome: 'failed', class: 'timeout_response', code: '' });
  const [gone = ''] = await rig.recordEvent('evt_gone', [destination('endpoint')]);
  await rig.attempt(gone, GONE);
  await rig.deadLetter('evt_foreign', destination('endpoint'), 'somebody');
  const filters = ['--endpoint', destination('endpoint'), '--class', 'http_5xx', '--reason-is', 'exhausted'];
  const rehearsed = (await replay(...filters, '--since', '2h', '--dry-run', '--json')).json();
  expect(rehearsed).toMatchObject({
    dryRun: true,
    wouldReplay: 2,
    estimateMs: 100,
    byDestination: { [destination('endpoint')]: 2 },
    byReason: { 'exhausted, http_5xx': 2 },
  });
  expect(rehearsed.deliveries.toSorted()).toEqual(exhausted.toSorted());
  expect(await openReplays(exhausted)).toEqual([]);
  expect((await rig.cli(['replays', 'list', '--json'])).json().replays).toEqual([]);
  rig.runReplays();
  const running = replay(...filters, '--rate', '1000/s', '--json');
  await waitUntil(async () => (await openReplays(exhausted)).length === 2, { what: 'both replays' });
  for (const id of exhausted) await rig.attempt(id, SENT);
  const { code, json } = await running;
  expect({ code, ...json() }).toMatchObject({
    code: 0,
    state: 'done',
    matched: 2,
    requested: 2,
    sent: 2,
    refused: {},
    watching: 'ended',
  });
  expect(await rig.audit()).toEqual([
    expect.objectContaining({ action: 'replays.start', actor: 'cli:tess', reason: 'fixed' }),
  ]);
});

test.each([
  [['--source', 'shop', '--event', 'evt_1'], ['evt_1']],
  [
    ['--type', 'order.*'],
    ['evt_0', 'evt_1'],
  ],
  [['--type', 'refund.created'], ['evt_2']],
  [['--source', 'elsewhere'], []],
  [['--until', '1h'], []],
  [['--since', '2020-01-31T12:00:00Z', '--until', '2021-01-31T12:00:00Z'], []],
])('the filter %j chooses %j', async (filter, wanted) => {
  const ids = await deadIds(2);
  const [refund = ''] = await rig.recordEvent('evt_2', [other], { type: 'refund.created' });
  await rig.attempt(refund, FAILED);
  const named = new Map([...ids, refund].map((id, index) => [id, `evt_${index}`]));
  const { deliveries } = (await replay(...filter, '--dry-run', '--json')).json();
  expect(deliveries.map((id: string) => named.get(id))).toEqual(wanted);
  if (wanted.length > 0) return;
  const { code, stdout } = await replay(...filter);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Nothing matches: there is nothing to replay.\n' });
});

test('one refusal does not stop the others, and decides the exit code', async () => {
  const [first = '', second = ''] = await deadIds(2);
  const [pending = ''] = await rig.recordEvent('evt_pending', [destination('endpoint')]);
  rig.runReplays();
  const running = replay(first, pending, 'nothing', second, first, '--json');
  await waitUntil(async () => (await openReplays([first, second])).length === 2, { what: 'both replays' });
  for (const id of [first, second]) await rig.attempt(id, SENT);
  const { code, json } = await running;
  expect(code).toBe(4);
  expect(json()).toMatchObject({ matched: 4, sent: 2, refused: { wrong_status: 1, not_found: 1 } });
  expect(json().notes).toEqual([
    expect.objectContaining({ kind: 'refused', delivery: pending, why: 'wrong_status' }),
    expect.objectContaining({ kind: 'refused', delivery: 'nothing', why: 'not_found' }),
  ]);
  const dry = (await replay(first, pending, 'nothing', '--status', 'failed', '--dry-run', '--json')).json();
  expect(dry.refused.map((each: { code: string }) => each.code)).toEqual([
    'wrong_status',
    'wrong_status',
    'not_found',
  ]);
});

test('a single id that cannot be replayed is an error of the command', async () => {
  const [id = ''] = await deadIds(1);
  expect((await replay('nothing')).code).toBe(3);
  expect((await replay(id, '--operator', 'other')).code).toBe(3);
  expect((await replay('nothing', '--dry-run')).code).toBe(3);
  expect((await rig.cli(['replays', 'list', '--json'])).json().replays).toEqual([]);
});

test('what was sent is replayed in bulk only by someone who says that the receivers dedupe', async () => {
  const [id = ''] = await rig.recordEvent('evt_sent', [destination('endpoint')]);
  await rig.attempt(id, SENT);
  const sent = ['--status', 'sent', '--endpoint', destination('endpoint')];
  expect((await replay(...sent)).code).toBe(4);
  expect((await replay(...sent, '--dry-run')).code).toBe(4);
  const dry = await replay(...sent, '--acknowledge-duplicates', '--dry-run', '--json');
  expect(dry.json()).toMatchObject({ wouldReplay: 1, deliveries: [id] });
});

test('command lines that contradict themselves are refused before anything is asked for', async () => {
  for (const args of [
    [],
    ['x', '--all'],
    ['x', '--class', 'http_5xx'],
    ['--all', '--rate', 'fast'],
    ['--all', '--since', 'yesterday'],
    ['--all', '--status', 'pending'],
    ['x', '--resume', 'y'],
    ['--resume', 'y', '--dry-run'],
  ]) {
    const { code } = await replay(...args);
    expect({ args, code }).toEqual({ args, code: 2 });
  }
  expect((await rig.cli(['dead-letters', 'replay', '--all'])).code).toBe(2); // no reason
});

test('of every replay that failed it is said why, and the exit code is 1 unless all were sent', async () => {
  const [first = '', second = ''] = await deadIds(2);
  rig.runReplays();
  const running = replay(first, second);
  await waitUntil(async () => (await openReplays([first, second])).length === 2, { what: 'both replays' });
  await rig.attempt(first, FAILED);
  await rig.attempt(second, SENT);
  const { code, stdout } = await running;
  const { id } = await onlyRun();
  expect(code).toBe(1);
  expect(stdout).toBe(
    [
      `Run ${id} is done: 2 of 2 asked for, 1 sent, 1 failed, 0 without a result yet.`,
      '1 failed:',
      `  ${first}: http_5xx 503`,
      '',
    ].join('\n'),
  );
});

test('without a dispatcher nothing is lost: the run waits, is shown, cancelled from elsewhere and resumed', async () => {
  const ids = await deadIds(3);
  const detached = await replay('--all', '--detach', '--json');
  expect({ code: detached.code, ...detached.json() }).toMatchObject({
    code: 0,
    state: 'running',
    remaining: 3,
  });
  const { id } = detached.json();
  expect((await rig.cli(['replays', 'show', id])).stdout).toMatch(/^left +3$/m);
  const cancel = ['replays', 'cancel', id, '--json'];
  expect((await rig.cli([...cancel, '--dry-run'])).json()).toMatchObject({ dryRun: true, state: 'running' });
  expect((await rig.cli([...cancel, '--operator', 'other'])).code).toBe(3);
  expect((await rig.cli(cancel)).json()).toMatchObject({ state: 'cancelled', remaining: 3 });
  rig.runReplays();
  const resumed = rig.cli(['dead-letters', 'replay', '--resume', id, '--json']);
  await waitUntil(async () => (await bulkReplays(ids, id)).length === 3, { what: 'all replays' });
  for (const each of ids) await rig.attempt(each, SENT);
  expect((await resumed).json()).toMatchObject({ id, state: 'done', sent: 3 });
  expect((await rig.cli(['replays', 'resume', id])).code).toBe(4);
  expect((await rig.cli(['replays', 'show', 'nothing'])).code).toBe(3);
  const { stdout } = await rig.cli(['replays', 'list']);
  expect(stdout).toMatch(new RegExp(`^${id} +done +3 +0 +3 `, 'm'));
});

test('--restart begins the schedule again', async () => {
  const [id = ''] = await deadIds(1);
  rig.runReplays();
  const running = replay(id, '--restart', '--json');
  await waitUntil(async () => (await readDelivery(rig.redis, rig.keys, 'default', id))?.status === 'failed', {
    what: 'the restart',
  });
  expect(await readDelivery(rig.redis, rig.keys, 'default', id)).toMatchObject({ scheduleMade: 0 });
  await rig.attempt(id, SENT);
  expect((await running).json()).toMatchObject({ mode: 'restart', sent: 1 });
});

test('Ctrl-C and even SIGKILL end only the watching: the run goes on, and is said how to come back to', async () => {
  const ids = await deadIds(3);
  rig.runReplays();
  const args = [MAIN, 'dead-letters', 'replay', '--all', '--reason', 'fixed', '--rate', '30/m'];
  const spawnCli = (more: readonly string[]) => {
    const child = spawn(process.execPath, [...args, ...more], {
      env: { ...process.env, ...rig.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => (output.stdout += String(chunk)));
    child.stderr.on('data', (chunk) => (output.stderr += String(chunk)));
    return { child, output, ended: once(child, 'close') };
  };
  const first = spawnCli([]);
  const run = await waitUntil(onlyRun, { what: 'the run', timeoutMs: 30_000 });
  first.child.kill('SIGINT');
  const [code] = await first.ended;
  expect(code).toBe(1);
  expect(first.output.stderr).toContain(run.id);
  expect(first.output.stdout).toContain(`dead-letters replay --resume ${run.id}`);
  expect(await onlyRun()).toMatchObject({ state: 'running' });
  const second = spawn(process.execPath, [MAIN, 'dead-letters', 'replay', '--resume', run.id], {
    env: { ...process.env, ...rig.env },
    stdio: 'ignore',
  });
  const killed = once(second, 'close');
  await waitUntil(async () => (await bulkReplays(ids, run.id)).length > 0, {
    what: 'a replay',
    timeoutMs: 20_000,
  });
  second.kill('SIGKILL');
  await killed;
  await waitUntil(async () => (await bulkReplays(ids, run.id)).length === 3, {
    what: 'the others',
    timeoutMs: 30_000,
  });
}, 90_000);

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
