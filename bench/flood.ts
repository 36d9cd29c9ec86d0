import { readFileSync } from 'node:fs';
import { DEFAULT_SCHEDULE_MS } from '@breakwater/contracts/config';
import { deliveryId, newEndpointId, newId } from '@breakwater/contracts/ids';
import { policyOf } from '@breakwater/store/policy';
import { Transitions } from '@breakwater/store/transitions';
import { parseConfig } from '@breakwater/runtime/config';
import { figures, inParallel, OK, sendPaced, startFleet, startReceiver, until } from './fleet.ts';

// Deliveries that all become due in one moment, as after an outage: what fresh events, acknowledgements and the
// dispatchers' memory make of it.
const COUNT = Number(process.env['COUNT'] ?? 100_000);
const ENDPOINTS = 50;
const DISPATCHERS = 2;
const PACE = { type: 'bench.fast', perSecond: 20 };

const fleet = await startFleet({ dispatchers: DISPATCHERS, schedule: '0s,1m,5m' });
try {
  const [fast, many] = [await startReceiver(fleet, OK), await startReceiver(fleet, OK)];
  await fleet.endpoint(fast.url, PACE.type);
  const endpoints: string[] = [];
  for (let index = 0; index < ENDPOINTS; index += 1)
    endpoints.push(await fleet.endpoint(many.url, `none.${newEndpointId()}`));
  const dueAt = await failAll(endpoints);
  const dispatchers = await fleet.startDispatchers();
  const watching = new AbortController();
  const memory = watchMemory(
    dispatchers.map(({ pid }) => pid ?? 0),
    watching.signal,
  );
  await sendPaced(fleet, fast, { ...PACE, run: 'warm-up', count: 100 });
  const quiet = await sendPaced(fleet, fast, { ...PACE, run: 'quiet', count: 200 });
  console.log(
    `before     first attempts ${figures(quiet.latencies)}; acknowledged ${figures(quiet.acknowledged)}`,
  );
  await until(() => Date.now() >= dueAt, 'the time that all are due');
  const began = performance.now();
  const latencies: number[] = [];
  const acknowledged: number[] = [];
  for (let round = 0; many.requests < COUNT; round += 1) {
    const paced = await sendPaced(fleet, fast, { ...PACE, run: `flood-${round}`, count: 40 });
    latencies.push(...paced.latencies);
    acknowledged.push(...paced.acknowledged);
  }
  console.log(
    `meanwhile  first attempts ${figures(latencies)}; acknowledged ${figures(acknowledged)} (${latencies.length} events)`,
  );
  const seconds = (performance.now() - began) / 1_000;
  console.log(
    `${COUNT} due at once were delivered in ${seconds.toFixed(0)} s, ${(COUNT / seconds).toFixed(0)}/s`,
  );
  watching.abort();
  console.log(`largest dispatcher: ${((await memory) / 1_048_576).toFixed(0)} MiB`);
} finally {
  await fleet.stop();
}

/** Makes the deliveries, each failed once, and all due again at the same time, which is returned (ms since the epoch). */
async function failAll(endpoints: readonly string[]): Promise<number> {
  const policy = policyOf(parseConfig(readFileSync('breakwater.config.yaml', 'utf8'), {}));
  const started = performance.now();
  const aheadMs = 30_000 + COUNT * 2;
  const due = Date.now() + aheadMs;
  await inParallel(COUNT / endpoints.length, 50, async (index) => {
    const eventKey = newId();
    // A new set of rules for each event: what is left until they are due is the wait after its failure.
    const transitions = new Transitions(fleet.redis, fleet.keys, {
      ...policy,
      scheduleMs: [0, Math.max(1_000, due - Date.now()), ...DEFAULT_SCHEDULE_MS.slice(2)],
    });
    await transitions.recordEvent({
      eventKey,
      source: 'demo-payments',
      operator: 'default',
      plan: endpoints.map((d) => ({ d })),
      from: 0,
      count: 100,
      replan: false,
      fields: {
        eventId: eventKey,
        type: 'none',
        entity: '',
        contentType: '',
        receivedAt: 1,
        encoding: 'utf8',
        body: '{}',
      },
    });
    const turn = index % endpoints.length; // each begins with another endpoint, or they would meet at its cap
    for (const endpoint of [...endpoints.slice(turn), ...endpoints.slice(0, turn)]) {
      const delivery = deliveryId(eventKey, endpoint);
      const begun = await transitions.beginAttempt(delivery, `${delivery}-1`, newId());
      if (begun.kind !== 'go') throw new Error(JSON.stringify(begun));
      const { alarms } = await transitions.endAttempt({
        delivery,
        alarmId: `${delivery}-1`,
        attempt: begun.go.attempt,
        outcome: 'failed',
        class: 'http_5xx',
        code: '500',
        handOffToken: '',
      });
      await fleet.clocks.set(alarms);
    }
  });
  const left = due - Date.now();
  console.log(
    `${COUNT} deliveries to ${endpoints.length} endpoints failed once (made in ${((performance.now() - started) / 1_000).toFixed(0)} s), due in ${(left / 1_000).toFixed(0)} s`,
  );
  if (left < 15_000) throw new Error('this machine is too slow for so many: set COUNT');
  return due;
}

/** The largest resident set of any of the processes, bytes, until it is told to stop. Linux only; 0 elsewhere. */
async function watchMemory(pids: readonly number[], signal: AbortSignal): Promise<number> {
  let largest = 0;
  while (!signal.aborted) {
    for (const pid of pids) {
      try {
        const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
        largest = Math.max(largest, pages * 4_096);
      } catch {
        // no such file system here
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return largest;
}
