import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuard } from '@breakwater/local-stack/guard';
import { probeHttp, spawnChild, waitReady } from '@breakwater/local-stack/processes';
import { startRedis } from '@breakwater/local-stack/redis';
import { ensureRedisServer } from '@breakwater/local-stack/redis-binary';
import { type LoadResult, runLoad } from './load.ts';

// Ingest against a baseline, in the same rounds on the same Redis with the same settings, one after the other. The
// machine's own speed cancels out in the ratios; read those, not the absolutes. Where others use the machine too, CPU time per
// request says more than throughput.
const ROUNDS = Number(process.env['ROUNDS'] ?? 3);
const REQUESTS = Number(process.env['REQUESTS'] ?? 6_000);
const STORM_EVENTS = 100;
const CONCURRENCY = 64;
const root = join(import.meta.dirname, '..');
const guard = startGuard();
const dir = mkdtempSync(join(tmpdir(), 'breakwater-bench-'));
const ports = { redis: 16_390, breakwater: 18_080, ops: 19_100, baseline: 18_081 };

const redis = await startRedis({
  binary: ensureRedisServer(process, (line) => console.error(line)),
  port: ports.redis,
  dir,
  overrides: { maxmemory: '4gb' },
});
const env = {
  PATH: process.env['PATH'],
  REDIS_URL: redis.url,
  LOG_LEVEL: 'warn',
  BREAKWATER_CONFIG: join(root, 'breakwater.config.yaml'),
};
const start = async (
  name: string,
  main: string,
  more: Record<string, string>,
  readyUrl: string,
  ready: (answer: string | undefined) => boolean,
) => {
  const child = spawnChild({
    name,
    command: process.execPath,
    args: [join(root, main)],
    env: { ...env, ...more },
    guard,
    stage: 1,
    onLine: (line) => console.error(`${name}: ${line}`),
  });
  const state = await waitReady(
    child,
    async () => (ready(await probeHttp(readyUrl)) ? undefined : 'not yet'),
    30_000,
  );
  if (state.kind !== 'ready') throw new Error(`${name} did not start: ${child.tail().join('\n')}`);
  return child;
};

const subjects = {
  breakwater: `http://127.0.0.1:${ports.breakwater}/webhooks/demo-payments`,
  baseline: `http://127.0.0.1:${ports.baseline}/webhooks/demo-payments`,
} as const;
type Subject = keyof typeof subjects;

const cpuUrls: Readonly<Record<Subject, string>> = {
  breakwater: `http://127.0.0.1:${ports.ops}/metrics`,
  baseline: `http://127.0.0.1:${ports.baseline}/metrics`,
};

/** Time that the process has computed so far, user and system. */
async function cpuSeconds(subject: Subject): Promise<number> {
  const metrics = await (await fetch(cpuUrls[subject])).text();
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
}

interface Measured extends LoadResult {
  readonly cpuUsPerRequest: number;
}

const scenarios = {
  'unique events': () => Array.from({ length: REQUESTS }, (_, index) => index),
  'storm (100 events)': () =>
    Array.from({ length: REQUESTS }, () => Math.floor(Math.random() * STORM_EVENTS)),
};

async function measure(subject: Subject, events: number[], run: string, rate?: number): Promise<Measured> {
  const before = await cpuSeconds(subject);
  const result = await runLoad({
    url: subjects[subject],
    events,
    run,
    concurrency: CONCURRENCY,
    ...(rate !== undefined && { rate }),
  });
  const spent = (await cpuSeconds(subject)) - before;
  return { ...result, cpuUsPerRequest: (spent * 1e6) / events.length };
}

/** Each goes first in every other round. */
const order = (round: number): readonly Subject[] =>
  round % 2 === 0 ? ['breakwater', 'baseline'] : ['baseline', 'breakwater'];
const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

try {
  const children = [
    await start(
      'ingest',
      'services/ingest/src/main.ts',
      { PORT: String(ports.breakwater), OPS_PORT: String(ports.ops) },
      `http://127.0.0.1:${ports.ops}/readyz`,
      (answer) => answer === undefined,
    ),
    await start(
      'baseline',
      'bench/baseline.ts',
      { PORT: String(ports.baseline) },
      subjects.baseline,
      (answer) => answer?.includes('404') === true,
    ),
  ];
  console.log(
    `${cpus().length} cores (${cpus()[0]?.model ?? '?'}), Node ${process.version}, Redis appendfsync always, ${REQUESTS} requests of 1 KB per round, ${CONCURRENCY} at once, ${ROUNDS} rounds\n`,
  );
  let halfRate = 0;
  for (const [scenario, makeEvents] of Object.entries(scenarios)) {
    const results: Record<Subject, Measured[]> = { breakwater: [], baseline: [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      // Round 0 warms up and does not count.
      for (const subject of order(round)) {
        const result = await measure(subject, makeEvents(), `${scenario.slice(0, 3)}${round}`);
        if (result.failed > 0) throw new Error(`${subject}: ${result.failed} requests failed`);
        if (round > 0) results[subject].push(result);
      }
    }
    print(scenario, results);
    if (halfRate === 0) halfRate = median(results.breakwater.map(({ perSecond }) => perSecond)) / 2;
  }
  for (const subject of ['breakwater', 'baseline'] as const) {
    const half = await measure(
      subject,
      Array.from({ length: Math.min(REQUESTS, Math.round(halfRate * 5)) }, (_, index) => index),
      'half',
      halfRate,
    );
    console.log(
      `${subject.padEnd(11)} at ${Math.round(halfRate)}/s, half of Breakwater's saturation: p50 ${half.p50Ms.toFixed(1)} ms, p99 ${half.p99Ms.toFixed(1)} ms, max ${half.maxMs.toFixed(1)} ms`,
    );
  }
  for (const child of children) await child.stop(10_000);
} finally {
  await redis.stop();
  guard.close();
  rmSync(dir, { recursive: true, force: true });
}

function print(scenario: string, results: Record<Subject, Measured[]>): void {
  console.log(scenario);
  const of = (subject: Subject, pick: (result: Measured) => number): number =>
    median(results[subject].map((result) => pick(result)));
  for (const [label, pick] of [
    ['requests/s', ({ perSecond }: Measured) => perSecond],
    ['CPU µs', ({ cpuUsPerRequest }: Measured) => cpuUsPerRequest],
    ['p50 ms', ({ p50Ms }: Measured) => p50Ms],
    ['p99 ms', ({ p99Ms }: Measured) => p99Ms],
  ] as const) {
    const ours = of('breakwater', pick);
    const theirs = of('baseline', pick);
    console.log(
      `  ${label.padEnd(11)} breakwater ${ours.toFixed(1).padStart(8)}   baseline ${theirs.toFixed(1).padStart(8)}   ratio ${(ours / theirs).toFixed(2)}`,
    );
  }
  console.log();
}
