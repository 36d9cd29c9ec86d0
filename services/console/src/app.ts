import { openDeliveries } from '@breakwater/core/delivery-deps';
import { countDocuments, type DocumentCount, takeSnapshot } from '@breakwater/core/fleet-snapshot';
import { figuresOf } from '@breakwater/core/history';
import { startReconciliation } from '@breakwater/core/reconcile-schedule';
import { createTokenReader } from '@breakwater/core/token-reader';
import { createErpTargets, type ReadyErpTarget } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { createGuardedClient } from '@breakwater/http/egress';
import { createQueueBoard } from '@breakwater/queue/board';
import { messageOf } from '@breakwater/runtime/errors';
import { exportFleet } from '@breakwater/runtime/metrics-fleet';
import { createRegistry } from '@breakwater/runtime/metrics-process';
import { startOpsServer } from '@breakwater/runtime/ops-server';
import { startLoop } from '@breakwater/runtime/poll';
import { closeServer, listen } from '@breakwater/runtime/listen';
import type { ServiceContext } from '@breakwater/runtime/service';
import type { ServiceConfig } from '@breakwater/runtime/service-main';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { HISTORY_EVERY_MS, noteHistory } from '@breakwater/store/history';
import { createKeyspace } from '@breakwater/store/keys';
import { createSecretBox } from '@breakwater/store/secret-box';
import { createApiServer } from './api-server.ts';
import type { ApiDeps, TakenSnapshot } from './call.ts';
import { createConsole } from './console.ts';
import { createSessions } from './ui/session.ts';

/** Below Prometheus' usual scrape interval of 15 s. */
const SNAPSHOT_EVERY_MS = 2_000;
const DOCUMENTS_EVERY_MS = 30_000;

/** Calls in flight are milliseconds from their answer. */
const CLOSE_GRACE_MS = 5_000;

export interface Timing {
  /** A snapshot this old, ms, is not shown any more: no figure is better than one from before an outage. */
  readonly snapshotValidMs: number;
  /** Points of the history are so far apart. */
  readonly historyEveryMs: number;
}
export const TIMING: Timing = { snapshotValidMs: 30_000, historyEveryMs: HISTORY_EVERY_MS };

/** Serves the admin API, exports the ledger, the figures of the whole fleet, once, and reconciles events with postings. */
export async function start(
  config: ServiceConfig,
  context: ServiceContext,
  { snapshotValidMs, historyEveryMs }: Timing = TIMING,
): Promise<{ readonly port: number; readonly opsPort: number }> {
  const { defer, logger } = context;
  const registry = createRegistry();
  let taken: (TakenSnapshot & { readonly tick: number }) | undefined;
  const ageMs = (): number | undefined => taken && performance.now() - taken.tick;
  const current = (): TakenSnapshot | undefined =>
    (ageMs() ?? Number.POSITIVE_INFINITY) < snapshotValidMs ? taken : undefined;
  exportFleet(registry, { latest: () => current()?.snapshot, ageMs });

  const deliveries = openDeliveries(config, context);
  const ops = await startOpsServer({
    host: config.host,
    port: config.opsPort,
    registry,
    notReady: () => (current() ? [] : [taken ? 'Redis does not answer' : 'Redis has not answered yet']),
  });
  defer('ops', () => ops.close());
  const client = createHttpClient({});
  defer('http client', () => client.close());
  const targets = createErpTargets(config.breakwater, client);

  const sources = Object.keys(config.breakwater.sources);
  const counts = new Map<string, DocumentCount>();
  const stopCounting = startLoop(
    DOCUMENTS_EVERY_MS,
    () =>
      countAll(deliveries, targets, counts, (target, error) =>
        logger.warn({ target, reason: messageOf(error) }, "the ERP's documents could not be counted"),
      ),
    (error) => logger.error({ err: error }, 'counting documents failed'),
  );
  defer('counting documents', stopCounting);
  const stopSnapshots = startLoop(
    SNAPSHOT_EVERY_MS,
    async () => {
      const snapshot = await takeSnapshot(
        { ...deliveries, targets, sources, config: config.breakwater },
        counts,
      );
      taken = { snapshot, takenAt: Date.now(), tick: performance.now() };
      await noteHistory(deliveries.redis, deliveries.keys, figuresOf(snapshot), historyEveryMs);
    },
    (error) =>
      logger.warn(
        { reason: messageOf(error) },
        'the ledger could not be read, or its history not be written',
      ),
  );
  defer('snapshots', stopSnapshots);
  defer('reconciliation', startReconciliation({ ...deliveries, targets, config: config.breakwater }));
  const port = await startApi(config, context, deliveries, current);
  logger.info({ host: config.host, port, opsPort: ops.port }, 'console listens');
  return { port, opsPort: ops.port };
}

async function startApi(
  config: ServiceConfig,
  { defer, logger, signal }: ServiceContext,
  deliveries: ReturnType<typeof openDeliveries>,
  fleet: ApiDeps['fleet'],
): Promise<number> {
  const { breakwater, redisUrl, keyPrefix, host } = config;
  // It fails fast, since a caller waits; and whoever tries tokens is in nobody's way.
  const keys = createKeyspace(keyPrefix);
  const tokens = connectRedis(redisUrl, 'producer', logger);
  defer('tokens', () => closeRedis(tokens));
  const client = createGuardedClient(breakwater.egress, breakwater.samples);
  defer('guarded client', () => client.close());
  const secrets = createSecretBox(breakwater.encryptionKeys);
  const board = createQueueBoard(deliveries.redis, deliveries.keys, logger);
  defer('queue board', () => board.close());
  const { durability } = config;
  const accepting = { redisUrl, keyPrefix, durability, ingest: breakwater.ingest, logger };
  const listener = createConsole({
    deps: { ...deliveries, config: breakwater, secrets, client, accepting, fleet },
    tokenReader: createTokenReader({ redis: tokens, keys, logger }),
    sessions: createSessions(tokens, keys),
    board,
    signal,
  });
  const server = createApiServer(listener);
  const port = await listen(server, config.port, host);
  defer('http server', () => closeServer(server, CLOSE_GRACE_MS));
  return port;
}

/** A target whose ERP does not answer keeps no figure: the ratio then falls back on the postings we counted. */
async function countAll(
  deliveries: ReturnType<typeof openDeliveries>,
  targets: ReadonlyMap<string, ReadyErpTarget>,
  counts: Map<string, DocumentCount>,
  onError: (target: string, error: unknown) => void,
): Promise<void> {
  for (const target of targets.values()) {
    try {
      const count = await countDocuments(deliveries, target);
      if (count) counts.set(target.name, count);
    } catch (error) {
      counts.delete(target.name);
      onError(target.name, error);
    }
  }
}
