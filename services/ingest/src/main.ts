import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';
import { messageOf } from '@breakwater/runtime/errors';
import { createLogger } from '@breakwater/runtime/logger';
import { runService } from '@breakwater/runtime/service';
import { start } from './app.ts';

const NAME = 'ingest';
const PORT = 8_080;
const OPS_PORT = 9_100;
/** Below the 10 s after which container runtimes kill, and above the grace of the HTTP server. */
const SHUTDOWN_TIMEOUT_MS = 9_000;

async function main(): Promise<number> {
  const environment = readEnvironment(process.env);
  const logger = createLogger({
    service: NAME,
    level: environment.LOG_LEVEL,
    pretty: environment.LOG_PRETTY,
  });
  const shutdownTimeoutMs = environment.SHUTDOWN_TIMEOUT_MS ?? SHUTDOWN_TIMEOUT_MS;
  return runService({ name: NAME, logger, shutdownTimeoutMs }, async (context) => {
    const config = {
      host: environment.HOST,
      port: environment.PORT ?? PORT,
      opsPort: environment.OPS_PORT ?? OPS_PORT,
      breakwater: loadConfig(environment, process.env),
      keyPrefix: environment.KEY_PREFIX,
      redisUrl: environment.REDIS_URL,
      durability: environment.DURABILITY,
    };
    await start(config, context);
  });
}

try {
  process.exit(await main());
} catch (error) {
  // The environment itself is wrong, so there is no logger with the wanted level yet.
  createLogger({ service: NAME, level: 'info' }).fatal(messageOf(error));
  process.exit(1);
}
