import { expect, test } from '@jest/globals';
import { changeBulkReplay, findReplayRun, startBulkReplay } from '../src/bulk-replay.ts';
import { planReplay } from '../src/replay-plan.ts';
import { startReplayRunner } from '../src/replay-runner.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { afterwards } from './support/acceptor.ts';
import { openWork } from './support/deliveries.ts';

type Work = ReturnType<typeof openWork>;

async function deads(work: Work, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const id = await work.delivery();
    await work.end(await work.begin(id), 'gone');
    ids.push(id);
  }
  return ids;
}

async function start(work: Work, more: Partial<Parameters<typeof startBulkReplay>[1]> = {}) {
  const run = await startBulkReplay(work, {
    selection: { operator: 'default', status: 'dead_letter' },
    filter: 'all',
    mode: 'single',
    acknowledged: false,
    reason: 'fixed',
    actor: 'ada',
    perSecond: 1_000,
    destinationPerSecond: undefined,
    stopAfter: 0,
    ...more,
  });
  if (!run) throw new Error('nothing matched');
  return run;
}

/** Jobs of the queue with a priority; fresh ones are in another list, which workers empty first. */
const waiting = async ({ redis, keys }: Work): Promise<string[]> =>
  (await redis.zrange(`${keys.queues}:deliveries:prioritized`, 0, '-1')).map(String);

test('whoever started a run may go: a dispatcher asks for its replays, with jobs that everything else overtakes', async () => {
  const work = openWork();
  const ids = await deads(work, 3);
  const run = await start(work);
  afterwards(startReplayRunner(work));
  await waitUntil(async () => (await waiting(work)).length === 3, { what: 'the jobs' });
  expect((await waiting(work)).toSorted()).toEqual(ids.map((id) => `${id}-rbulk.${run.id}`).toSorted());
  // Also when the sweeper has to set them again, knowing nothing but their names.
  await work.redis.del(`${work.keys.queues}:deliveries:prioritized`);
  for (const id of ids) await work.redis.del(`${work.keys.queues}:deliveries:${id}-rbulk.${run.id}`);
  await work.alarmsAreDue();
  await work.sweep();
  expect(await waiting(work)).toHaveLength(3);
  expect(await work.jobs()).toEqual([]);
});

test('a run whose dispatcher died in the middle is carried on by the next one, and none is asked for twice', async () => {
  const work = openWork();
  const ids = await deads(work, 30);
  const run = await start(work, { perSecond: 20 });
  const stop = startReplayRunner(work);
  await waitUntil(async () => (await waiting(work)).length > 0, { what: 'the first replays' });
  await stop();
  const before = await findReplayRun(work, 'default', run.id);
  expect(before.remaining).toBeGreaterThan(0);
  afterwards(startReplayRunner(work));
  afterwards(startReplayRunner(work));
  // 20 at most are without a result, so some of them get theirs.
  const ended = new Set<string>();
  await waitUntil(
    async () => {
      for (const alarmId of await waiting(work)) {
        const id = alarmId.slice(0, alarmId.lastIndexOf('-'));
        if (ended.has(id)) continue;
        ended.add(id);
        const answer = await work.transitions.beginAttempt(id, alarmId, alarmId);
        if (answer.kind === 'go') await work.end(answer.go, 'failed');
      }
      return (await findReplayRun(work, 'default', run.id)).state === 'done';
    },
    { what: 'the end of the run', timeoutMs: 30_000 },
  );
  expect(await findReplayRun(work, 'default', run.id)).toMatchObject({ requested: 30, failed: 30 });
  for (const id of ids) expect(await work.redis.hget(work.keys.delivery(id), 'replaysMade')).toBe('1');
}, 60_000);

test('a run that was cancelled elsewhere is left alone by the dispatchers', async () => {
  const work = openWork();
  await deads(work, 3);
  const run = await start(work, { perSecond: 1 / 3_600 });
  afterwards(startReplayRunner(work));
  await waitUntil(async () => (await waiting(work)).length === 1, { what: 'the first replay' });
  await changeBulkReplay(work, {
    operator: 'default',
    id: run.id,
    action: 'cancel',
    actor: 'bob',
    reason: '',
  });
  expect(await findReplayRun(work, 'default', run.id)).toMatchObject({ state: 'cancelled', remaining: 2 });
  expect(await work.redis.zcard(work.keys.replayActive)).toBe(0);
});

test('a run that Redis refuses to carry on does not keep the others from theirs', async () => {
  const work = openWork();
  const [first = ''] = await deads(work, 1);
  const broken = await start(work);
  await work.redis.del(work.keys.replayRunIds(broken.id));
  await work.redis.set(work.keys.replayRunIds(broken.id), 'no list');
  const run = await start(work, { selection: { operator: 'default', status: 'dead_letter', ids: [first] } });
  afterwards(startReplayRunner(work));
  await waitUntil(async () => (await waiting(work)).includes(`${first}-rbulk.${run.id}`), {
    what: 'the other run',
  });
  await work.redis.del(work.keys.replayRunNotes(broken.id));
  await waitUntil(async () => (await work.redis.hget(work.keys.replayRun(broken.id), 'state')) === 'failed', {
    what: 'the broken run to be given up',
    timeoutMs: 30_000,
  });
}, 60_000);

test('a plan says what would happen, by destination and reason, how long it takes, and what would be refused', async () => {
  const work = openWork();
  const [first = '', second = '', third = ''] = await deads(work, 3);
  await work.replay(third, 'single');
  const plan = await planReplay(
    work.redis,
    work.keys,
    { operator: 'default', status: 'dead_letter' },
    false,
    { perSecond: 2, destinationPerSecond: 0.5 },
  );
  expect(plan).toMatchObject({ matched: 3, deliveries: [first, second], estimateMs: 2_000 });
  expect(plan.refused.map(({ delivery, error }) => [delivery, error.code])).toEqual([[third, 'replay_open']]);
  expect([...plan.byDestination]).toEqual(
    expect.arrayContaining([first, second].map((id) => [id.slice(23), 1])),
  );
  expect([...plan.byReason]).toEqual([['gone, gone', 2]]);
});

test('where nothing matches no run is made, and one without a reason is refused', async () => {
  const work = openWork();
  await expect(start(work)).rejects.toThrow('nothing matched');
  expect(await work.redis.exists(work.keys.replayRuns('default'))).toBe(0);
  await deads(work, 1);
  await expect(start(work, { reason: ' ' })).rejects.toMatchObject({ code: 'request_invalid' });
});
