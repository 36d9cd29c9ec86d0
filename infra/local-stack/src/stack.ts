import { join } from 'node:path';
import { pause } from '@breakwater/runtime/poll';
import { type Guard, startGuard } from './guard.ts';
import { holdLines } from './held-lines.ts';
import { claimPidFile, noteGuard, releasePidFile, runningStack, stoppingStack } from './pid-file.ts';
import { type PortUse, findTaken } from './ports.ts';
import { type Readiness, describeExit, probeHttp, spawnChild, waitReady } from './processes.ts';
import { spawnRedis, waitRedis } from './redis.ts';
import type { ServicePlan, StackPlan } from './settings.ts';
import { type Supervised, indented, supervise } from './supervisor.ts';

export interface StackControl {
  /** Lines of the stack itself. */
  readonly say: (line: string) => void;
  /** Lines of its children. */
  readonly pass: (line: string) => void;
  /** Aborted at the first Ctrl-C: stop in order. */
  readonly stop: AbortSignal;
  /** Aborted at the second: kill what is left. */
  readonly kill: AbortSignal;
}

const READY_TIMEOUT_MS = 60_000; // a slow machine with a cold disk
const STOP_TIMEOUT_MS = 45_000; // an ERP post in flight may take 30 s, and a service then still has to close
const REDIS_STAGE = 0;
/** Of a guard: a STOP_TIMEOUT_MS for each of three stages, and some. */
const GUARD_TIMEOUT_MS = 150_000;
const EXIT_KILLED = 130; // as a shell reports a death by Ctrl-C

/** Runs a stack until it is told to stop. Resolves to the exit code. */
export async function runStack(plan: StackPlan, control: StackControl): Promise<number> {
  const pidFile = join(plan.dataDir, 'stack.pid');
  await waitForKilledStack(pidFile, control);
  if (control.stop.aborted) return 0;
  const obstacle = await findObstacle(plan, pidFile);
  if (obstacle !== undefined) {
    control.say(obstacle);
    return 1;
  }
  const guard = startGuard();
  if (guard.pid !== undefined) noteGuard(pidFile, guard.pid);
  const running: Supervised[] = [];
  try {
    const isUp = await bringUp(plan, control, guard, running);
    if (isUp) await aborted(control.stop);
    // Who ends badly after another could not start has met the same mistake, which has been shown.
    const hasFailed = !isUp && !control.stop.aborted;
    const isClean = await bringDown(running, plan, control, hasFailed);
    if (control.kill.aborted) return EXIT_KILLED;
    return (isUp || control.stop.aborted) && isClean ? 0 : 1;
  } finally {
    guard.close(); // stops what an error above has left running
    releasePidFile(pidFile);
  }
}

/** A stack that was killed leaves its ports and its data to the next one only when its guard has stopped what it ran. */
async function waitForKilledStack(pidFile: string, control: StackControl): Promise<void> {
  const killed = stoppingStack(pidFile);
  if (killed === undefined) return;
  control.say(
    `the Breakwater before this one (pid ${killed}) was killed; waiting until what it ran has stopped. That takes ` +
      `${STOP_TIMEOUT_MS / 1_000} s at most as a rule, while an ERP post or a delivery is finished ...`,
  );
  const deadline = Date.now() + GUARD_TIMEOUT_MS;
  while (stoppingStack(pidFile) !== undefined && Date.now() < deadline && !control.stop.aborted)
    await pause(200, control.stop);
}

async function findObstacle(plan: StackPlan, pidFile: string): Promise<string | undefined> {
  const other = runningStack(pidFile);
  const isRunning = (pid: number): string =>
    `Breakwater is already running (pid ${pid}) on ${plan.dataDir}. Stop it with Ctrl-C in its terminal or kill ${pid}; ` +
    'PORT_OFFSET=100 npm start runs a second one beside it.';
  const taken = await takenPorts(plan);
  if (taken.length > 0) {
    const list = taken.map(({ port, use }) => `  ${port}  ${use}`).join('\n');
    const first = other === undefined ? 'Breakwater cannot start: these ports are in use.' : isRunning(other);
    const advice =
      other === undefined
        ? '\nStop what uses them, or set PORT_OFFSET (for example PORT_OFFSET=100 npm start).'
        : '';
    return `${first}\n${list}${advice}`;
  }
  const owner = claimPidFile(pidFile);
  return owner === undefined ? undefined : isRunning(owner);
}

async function takenPorts(plan: StackPlan): Promise<readonly PortUse[]> {
  const services = plan.services.flatMap(({ ports }) => ports);
  const [redis, others] = await Promise.all([
    findTaken([{ port: plan.redisPort, use: 'Redis' }], '127.0.0.1'),
    findTaken(services, plan.host),
  ]);
  return [...redis, ...others];
}

/** Starts Redis, then everything else at once. False when that failed, which it has said, or when it was told to stop. */
async function bringUp(
  plan: StackPlan,
  control: StackControl,
  guard: Guard,
  running: Supervised[],
): Promise<boolean> {
  control.say(`starting Redis and ${plan.services.length} services ...`);
  const redis = superviseRedis(plan, control, guard);
  running.push(redis);
  let problem = await startOne(redis, control);
  if (problem === undefined && !control.stop.aborted) {
    const services = plan.services.map((service) => superviseService(service, control, guard));
    running.push(...services);
    problem = await startAll(services, control);
  }
  if (control.stop.aborted) return false;
  if (problem === undefined) {
    control.say(`process ids: ${running.map(({ name, child }) => `${name} ${child().pid}`).join(', ')}`);
    control.pass(plan.banner);
  } else control.say(problem);
  return problem === undefined;
}

/** Resolves when all are ready or the first has failed: the others may take long to find out. */
async function startAll(services: readonly Supervised[], control: StackControl): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const starting = services.map(async (service) => {
    const problem = await startOne(service, control);
    if (problem !== undefined) resolve(problem);
  });
  Promise.all(starting).then(() => resolve(undefined), reject);
  return promise;
}

function superviseRedis(plan: StackPlan, control: StackControl, guard: Guard): Supervised {
  const options = { binary: plan.redisBinary, port: plan.redisPort, dir: join(plan.dataDir, 'redis') };
  return supervise({
    name: 'redis',
    spawn: () => spawnRedis(options, guard, REDIS_STAGE),
    ready: (child, signal) =>
      waitRedis(child, plan.redisPort, READY_TIMEOUT_MS, AbortSignal.any([signal, control.stop])),
    say: control.say,
  });
}

function superviseService(service: ServicePlan, control: StackControl, guard: Guard): Supervised {
  const output = holdLines(control.pass);
  return supervise({
    name: service.name,
    spawn: () =>
      spawnChild({
        name: service.name,
        command: process.execPath,
        args: [service.main],
        env: service.env,
        onLine: output.take,
        guard,
        stage: service.stage,
      }),
    ready: async (child, signal) => {
      const readiness = await waitReady(
        child,
        () => probeHttp(service.readyUrl),
        READY_TIMEOUT_MS,
        AbortSignal.any([signal, control.stop]),
      );
      if (readiness.kind === 'ready') output.release();
      return readiness;
    },
    say: control.say,
  });
}

async function startOne(supervised: Supervised, control: StackControl): Promise<string | undefined> {
  const readiness = await supervised.start();
  const why = whyNot(readiness);
  if (why === undefined || control.stop.aborted) return undefined;
  return [`${supervised.name} did not start: ${why}`, ...indented(supervised.child())].join('\n');
}

function whyNot(readiness: Readiness): string | undefined {
  switch (readiness.kind) {
    case 'ready':
    case 'cancelled':
      return undefined;
    case 'exited':
      return `it ended with ${describeExit(readiness.exit)}`;
    case 'late':
      return `not ready after ${READY_TIMEOUT_MS / 1_000} s: ${readiness.last}`;
  }
}

/**
 * Stops stage by stage, so that the services still have the ERP and Redis while they finish what they began. True when
 * everything ended as asked; what did not is reported unless `isQuiet`.
 */
async function bringDown(
  running: readonly Supervised[],
  plan: StackPlan,
  control: StackControl,
  isQuiet: boolean,
): Promise<boolean> {
  control.say('stopping ... (Ctrl-C again kills)');
  const stageOf = new Map(plan.services.map(({ name, stage }) => [name, stage]));
  const stages = Map.groupBy(running, ({ name }) => stageOf.get(name) ?? REDIS_STAGE);
  const results: boolean[] = [];
  for (const [, members] of [...stages].toSorted(([a], [b]) => b - a)) {
    results.push(...(await Promise.all(members.map((member) => stopOne(member, control, isQuiet)))));
  }
  control.say(control.kill.aborted ? 'killed' : 'stopped');
  return results.every(Boolean);
}

async function stopOne(member: Supervised, control: StackControl, isQuiet: boolean): Promise<boolean> {
  const exit = await member.stop(STOP_TIMEOUT_MS, control.kill);
  // SIGTERM: it was still starting and had no handler yet.
  if (exit === undefined || exit.code === 0 || exit.signal === 'SIGTERM') return true;
  if (!isQuiet && !control.kill.aborted) {
    control.say(
      [`${member.name} did not stop cleanly (${describeExit(exit)})`, ...indented(member.child())].join('\n'),
    );
  }
  return false;
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
