import {
  figures,
  inParallel,
  OK,
  type Paced,
  quantile,
  sendPaced,
  startFleet,
  startReceiver,
  until,
} from './fleet.ts';

// First-attempt latency of a healthy endpoint, with and without 2,000 deliveries queued for one that hangs, in the same
// process on the same Redis: without, with, without again.
const BACKLOG = Number(process.env['BACKLOG'] ?? 2_000);
const ROUNDS = Number(process.env['ROUNDS'] ?? 3);
const PACE = { type: 'bench.fast', count: 300, perSecond: 50 };
const DISPATCHERS = 2;

const fleet = await startFleet({ dispatchers: DISPATCHERS, schedule: '0s,1m,5m' });
try {
  await fleet.startDispatchers();
  const fast = await startReceiver(fleet, OK);
  const hung = await startReceiver(fleet, () => undefined);
  await fleet.endpoint(fast.url, 'bench.fast');
  const other = await startReceiver(fleet, OK);
  await fleet.endpoint(other.url, 'bench.other');
  const stuck = await fleet.endpoint(hung.url, 'bench.hung');
  const measure = async (name: string): Promise<Paced[]> => {
    const rounds: Paced[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push(await sendPaced(fleet, fast, { ...PACE, run: `${name.replaceAll(' ', '_')}-${round}` }));
    console.log(`${name.padEnd(22)} ${figures(rounds.flatMap(({ latencies }) => latencies))}`);
    return rounds;
  };
  const waiting = (): Promise<number> => fleet.redis.zcard(fleet.keys.waiting(stuck));

  console.log(
    `${DISPATCHERS} dispatchers, ${PACE.perSecond} events/s to a healthy endpoint, ${ROUNDS} rounds of ${PACE.count}: from ingest to the subscriber\n`,
  );
  await sendPaced(fleet, fast, { ...PACE, run: 'warm-up' });
  const before = await measure('nothing hangs');
  // The burst itself costs the same work whoever it is for, so it is compared with one for an endpoint that answers.
  const burst = async (name: string, type: string): Promise<Paced> => {
    const paced = sendPaced(fleet, fast, { ...PACE, run: type });
    await inParallel(BACKLOG, 16, (index) => fleet.send(type, `${type}-burst-${index}`));
    console.log(`${name.padEnd(22)} ${figures((await paced).latencies)}`);
    return paced;
  };
  const healthyBurst = await burst('a burst, answered', 'bench.other');
  const hungBurst = await burst('a burst, hung', 'bench.hung');
  await until(async () => (await waiting()) > BACKLOG * 0.95, 'the backlog');
  const during = await measure(`${await waiting()} wait`);
  hung.answer = OK;
  await until(async () => (await waiting()) === 0, 'the backlog to go');
  const after = await measure('nothing hangs again');
  const without = [...before, ...after].flatMap(({ latencies }) => latencies);
  const behind = during.flatMap(({ latencies }) => latencies);
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const)
    console.log(
      `${name} with a hung endpoint / without: ${(quantile(behind, share) / quantile(without, share)).toFixed(2)} (wanted: below 2); ` +
        `while a burst arrives ${(quantile(hungBurst.latencies, share) / quantile(healthyBurst.latencies, share)).toFixed(2)}`,
    );
} finally {
  await fleet.stop();
}
