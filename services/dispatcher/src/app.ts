import { createAttempts } from '@breakwater/core/attempts';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { createFanOut } from '@breakwater/core/fan-out';
import { startGateWatch } from '@breakwater/core/gate-watch';
import { startReplayRunner } from '@breakwater/core/replay-runner';
import { createEndpointSender } from '@breakwater/core/send-to-endpoint';
import { startSweeper } from '@breakwater/core/sweep';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { createGuardedClient } from '@breakwater/http/egress';
import { startAlarmWorker, startEventWorker } from '@breakwater/queue/workers';
import { createAttemptMetrics } from '@breakwater/runtime/metrics-attempts';
import { createRegistry } from '@breakwater/runtime/metrics-process';
import { startOpsServer } from '@breakwater/runtime/ops-server';
import type { ServiceContext } from '@breakwater/runtime/service';
import type { ServiceConfig } from '@breakwater/runtime/service-main';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createSecretBox } from '@breakwater/store/secret-box';

/** Fan-outs at once: each is a few milliseconds of Redis, so more would only queue up there. */
const FAN_OUT_CONCURRENCY = 20;
/**
 * Attempts at once: they wait for the network. Above `deliveries.retriesInFlight`, which leaves the others to first attempts,
 * and above the number of endpoints that may hang at the same time: each of them keeps one.
 */
const ATTEMPT_CONCURRENCY = 500;

/** Fans events out, makes the HTTP attempts, owns the retry schedule and the dead letters. */
export async function start(
  config: ServiceConfig,
  context: ServiceContext,
): Promise<{ readonly opsPort: number }> {
  const { defer, logger, signal } = context;
  const { breakwater, host, opsPort } = config;
  const registry = createRegistry();
  const metrics = createAttemptMetrics(registry, ['endpoint']);

  const worker = connectRedis(config.redisUrl, 'worker', logger);
  defer('worker connection', () => closeRedis(worker));
  const deliveries = openDeliveries(config, context);
  const { keys, redis } = deliveries;
  const ops = await startOpsServer({
    host,
    port: opsPort,
    registry,
    notReady: () => (redis.status === 'ready' && worker.status === 'ready' ? [] : ['Redis is not reachable']),
  });
  defer('ops', () => ops.close());

  // Planning needs the targets' mappings and never calls an ERP.
  const unused = createHttpClient({});
  defer('erp client', () => unused.close());
  const targets = createErpTargets(breakwater, unused);

  const client = createGuardedClient(breakwater.egress, breakwater.samples);
  defer('http client', () => client.close());
  const perform = createEndpointSender({
    redis,
    keys,
    client,
    secrets: createSecretBox(breakwater.encryptionKeys),
    signal,
  });
  const gates = startGateWatch(deliveries);
  defer('gate watch', gates.stop);
  const attempt = createAttempts({
    ...deliveries,
    perform,
    onAttempt: metrics.attempt,
    wakeGatesIn: gates.wakeIn,
    signal,
  });
  const fanOut = createFanOut({ ...deliveries, config: breakwater, targets });

  const stopSweeper = startSweeper(deliveries);
  defer('sweeper', stopSweeper);
  const stopReplays = startReplayRunner(deliveries);
  defer('replay runs', stopReplays);
  const events = startEventWorker(
    { redis: worker, keys, concurrency: FAN_OUT_CONCURRENCY, logger },
    async (job) => void (await fanOut(job)),
  );
  defer('event worker', () => events.close());
  const attempts = startAlarmWorker(
    { redis: worker, keys, queue: 'deliveries', concurrency: ATTEMPT_CONCURRENCY, logger },
    (job, alarmId, behind) => attempt(job.delivery, alarmId, behind),
  );
  defer('attempt worker', () => attempts.close());
  return { opsPort: ops.port };
}
