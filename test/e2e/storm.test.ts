import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Rig, startRig } from '../support/rig.ts';

interface StormFigures {
  accepted: number;
  deduped: number;
  acknowledged: number;
  postings: number;
  distinctReferences: number;
  duplicates: number;
  deadLetters: { delivery: string; reason: string }[];
  exact: boolean;
  problems: string[];
}

let rig: Rig;
beforeEach(async () => void (rig = await startRig({ schedule: '0s,1s,1s,2s,2s,3s' })), 60_000);
afterEach(() => rig.close(), 60_000);

test('5,000 deliveries of 100 orders give exactly 100 postings, and the same again give none', async () => {
  const args = ['storm', '--orders', '100', '--deliveries', '5000', '--run', 'same'];
  const first = await rig.json<StormFigures>(...args);
  expect(first).toMatchObject({
    accepted: 100,
    deduped: 4_900,
    acknowledged: 5_000,
    postings: 100,
    distinctReferences: 100,
    duplicates: 0,
    deadLetters: [],
    exact: true,
  });
  const again = await rig.json<StormFigures>(...args);
  expect(again).toMatchObject({
    accepted: 0,
    deduped: 5_000,
    postings: 100,
    distinctReferences: 100,
    duplicates: 0,
    exact: true,
  });
  expect(await rig.stats()).toEqual({ postings: 100, distinctReferences: 100, duplicates: 0 });
}, 180_000);

test('a slow ERP that fails and loses answers still gets one posting per order, or a dead letter that names it', async () => {
  await rig.faults({ latencyMs: [50, 150], errorRate: 0.15, dropAfterPost: 0.2 });
  const figures = await rig.json<StormFigures>('storm', '--orders', '60', '--deliveries', '600');
  expect(figures.problems).toEqual([]);
  expect(figures).toMatchObject({ accepted: 60, deduped: 540, duplicates: 0 });
  const named = figures.deadLetters.length;
  expect(figures.postings + named).toBeGreaterThanOrEqual(60);
  expect(await rig.stats()).toMatchObject({ duplicates: 0 });
}, 240_000);

test.each(['ingest', 'dispatcher', 'erp-consumer'] as const)(
  'a storm in which %s is killed and started again stays exact',
  async (service) => {
    await rig.faults({ latencyMs: [100, 200] });
    const storm = rig.json<StormFigures>(
      'storm',
      '--orders',
      '60',
      '--deliveries',
      '3000',
      '--concurrency',
      '20',
    );
    storm.catch(() => undefined); // awaited below
    for (let round = 0; round < 3; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 700));
      await rig.kill(service);
      await rig.start(service);
    }
    const figures = await storm;
    expect(figures.problems).toEqual([]);
    expect(figures).toMatchObject({
      acknowledged: 3_000,
      accepted: 60,
      deduped: 2_940,
      postings: 60,
      duplicates: 0,
      deadLetters: [],
    });
  },
  240_000,
);
