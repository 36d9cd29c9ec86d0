import { createAttempts } from '@breakwater/core/attempts';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { startGateWatch } from '@breakwater/core/gate-watch';
import { createErpPoster } from '@breakwater/core/post-to-erp';
import { startSweeper } from '@breakwater/core/sweep';
import { erpDestination } from '@breakwater/contracts/ids';
import { createErpTargets, type ReadyErpTarget } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { startAlarmWorker } from '@breakwater/queue/workers';
import { messageOf } from '@breakwater/runtime/errors';
import { createAttemptMetrics } from '@breakwater/runtime/metrics-attempts';
import { createRegistry } from '@breakwater/runtime/metrics-process';
import { startOpsServer } from '@breakwater/runtime/ops-server';
import { startLoop } from '@breakwater/runtime/poll';
import type { ServiceContext } from '@breakwater/runtime/service';
import type { ServiceConfig } from '@breakwater/runtime/service-main';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { readBreaker, writeGate } from '@breakwater/store/gates';
import { policyOfTarget } from '@breakwater/store/policy';
import { checkTiming } from './timing.ts';
import { Valve } from './valve.ts';

/** Attempts at once in this process; each target's own cap is kept in Redis for the whole fleet. */
const CONCURRENCY = 100;
/** How soon a replica follows the fleet's breaker. */
const FOLLOW_EVERY_MS = 1_000;

/** Posts events to ERP targets, behind a circuit breaker, never twice. */
export async function start(
  config: ServiceConfig,
  context: ServiceContext,
): Promise<{ readonly opsPort: number }> {
  const { defer, logger, signal } = context;
  checkTiming(config.breakwater.erpTargets, config.shutdownTimeoutMs);
  const registry = createRegistry();
  const metrics = createAttemptMetrics(registry, Object.keys(config.breakwater.erpTargets));

  const worker = connectRedis(config.redisUrl, 'worker', logger);
  defer('worker connection', () => closeRedis(worker));
  const deliveries = openDeliveries(config, context);
  const { keys, redis } = deliveries;
  const gates = Promise.withResolvers<void>();
  let gatesWritten = false;
  const ops = await startOpsServer({
    host: config.host,
    port: config.opsPort,
    registry,
    notReady: () => [
      ...(redis.status === 'ready' && worker.status === 'ready' ? [] : ['Redis is not reachable']),
      ...(gatesWritten ? [] : ['the settings of the ERP targets are not written yet']),
    ],
  });
  defer('ops', () => ops.close());

  const client = createHttpClient(config.breakwater.samples);
  defer('http client', () => client.close());
  const targets = createErpTargets(config.breakwater, client);
  const valves = openValves(targets, { redis, keys });
  defer('valves', () => valves.forEach((valve) => valve.shutdown()));
  const guarded = (
    target: string,
    probe: boolean,
    call: Parameters<Valve['run']>[1],
  ): ReturnType<Valve['run']> => {
    const valve = valves.get(target);
    return valve ? valve.run(probe, call) : call();
  };
  const perform = createErpPoster({ redis, keys, targets, guarded, signal });

  // Written again and again: a Redis that was restored from a backup must not keep old settings.
  const stopFollowing = startLoop(
    FOLLOW_EVERY_MS,
    async () => {
      for (const { name, config: target } of targets.values())
        await writeGate(redis, keys, erpDestination(name), target.maxInFlight, policyOfTarget(target));
      gatesWritten = true;
      gates.resolve();
      for (const valve of valves.values()) await valve.refresh();
    },
    (error) => logger.warn({ reason: messageOf(error) }, 'the breakers could not be read'),
  );
  defer('following the breakers', stopFollowing);
  // An attempt that began before would follow the deployment's policy instead of its target's.
  signal.addEventListener('abort', () => gates.resolve(), { once: true });
  await gates.promise;
  const gateWatch = startGateWatch(deliveries);
  defer('gate watch', gateWatch.stop);
  const attempt = createAttempts({
    ...deliveries,
    perform,
    onAttempt: metrics.attempt,
    wakeGatesIn: gateWatch.wakeIn,
    signal,
  });
  const stopSweeper = startSweeper(deliveries);
  defer('sweeper', stopSweeper);
  const attempts = startAlarmWorker(
    { redis: worker, keys, queue: 'erp', concurrency: CONCURRENCY, logger },
    (job, alarmId, behind) => attempt(job.delivery, alarmId, behind),
  );
  defer('attempt worker', () => attempts.close());
  return { opsPort: ops.port };
}

function openValves(
  targets: ReadonlyMap<string, ReadyErpTarget>,
  { redis, keys }: Pick<ReturnType<typeof openDeliveries>, 'redis' | 'keys'>,
): Map<string, Valve> {
  return new Map(
    [...targets.keys()].map((name) => [
      name,
      new Valve(name, () => readBreaker(redis, keys, erpDestination(name))),
    ]),
  );
}
