import { publishTokensOf } from '@breakwater/contracts/publish-tokens';
import { createAcceptor } from '@breakwater/core/accept';
import { openQuarantine } from '@breakwater/core/quarantine';
import { createSourceRecorder } from '@breakwater/core/source-recorder';
import { createTokenReader } from '@breakwater/core/token-reader';
import { closeServer, listen } from '@breakwater/runtime/listen';
import { createIngestMetrics } from '@breakwater/runtime/metrics-ingest';
import { createRegistry } from '@breakwater/runtime/metrics-process';
import { startOpsServer } from '@breakwater/runtime/ops-server';
import type { ServiceContext } from '@breakwater/runtime/service';
import type { ServiceConfig } from '@breakwater/runtime/service-main';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { createRouter } from './router.ts';
import { createIngestServer } from './server.ts';

/** Requests in flight are milliseconds from their answer; what takes longer is a slow upload, which its sender repeats. */
const CLOSE_GRACE_MS = 5_000;

/** How long the first look at Redis may hold back the port: without it the first requests after a start would get a 503. */
const FIRST_LOOK_MS = 2_000;

/**
 * Starts ingest and resolves to the ports in use. It listens whatever Redis does: without it the answer is 503, which a
 * provider repeats. Throws AppError config_invalid and port_taken.
 */
export async function start(
  config: ServiceConfig,
  { defer, logger, signal }: ServiceContext,
): Promise<{ readonly port: number; readonly opsPort: number }> {
  const { host, breakwater, redisUrl, keyPrefix, durability } = config;
  const registry = createRegistry();
  const metrics = createIngestMetrics(registry, Object.keys(breakwater.sources));

  const acceptor = createAcceptor({ redisUrl, keyPrefix, durability, ingest: breakwater.ingest, logger });
  defer('acceptor', () => acceptor.close());
  metrics.watchDurable(() => acceptor.durable());
  const recorder = createSourceRecorder({
    redisUrl,
    keyPrefix,
    sources: breakwater.sources,
    acknowledgements: metrics.acknowledgements,
    logger,
  });
  defer('source recorder', () => recorder.close());

  const quarantine = openQuarantine({
    redisUrl,
    keyPrefix,
    logger,
    notReady: () => acceptor.notReady(),
    onKept: metrics.quarantined,
  });
  defer('quarantine', () => quarantine.close());

  // A connection of its own: whoever tries tokens is in nobody's way.
  const tokens = connectRedis(redisUrl, 'producer', logger);
  defer('tokens', () => closeRedis(tokens));
  const tokenReader = createTokenReader({ redis: tokens, keys: createKeyspace(keyPrefix), logger });

  // Closed after the public server, so that probes see "not ready" while the last requests finish.
  const notReady = (): readonly string[] => (signal.aborted ? ['stopping'] : acceptor.notReady());
  const ops = await startOpsServer({ host, port: config.opsPort, registry, notReady });
  defer('ops server', ops.close);

  const router = createRouter({
    sources: breakwater.sources,
    acceptor,
    recorder,
    metrics,
    logger,
    publishTokens: publishTokensOf(breakwater),
    tokenReader,
    quarantine: (refused) => quarantine.keep(refused),
    isClosing: () => signal.aborted,
  });
  const server = createIngestServer(router);
  await acceptor.settled(FIRST_LOOK_MS);
  const port = await listen(server, config.port, host);
  defer('http server', () => closeServer(server, CLOSE_GRACE_MS));
  logger.info({ host, port, opsPort: ops.port, sources: Object.keys(breakwater.sources) }, 'ingest listens');
  return { port, opsPort: ops.port };
}
