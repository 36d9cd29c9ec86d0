import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { loadConfig } from './config.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { messageOf } from './errors.ts';
import { createLogger } from './logger.ts';
import { runService, type ServiceContext } from './service.ts';

/** What every service is started with; tests give the same with a prefix of their own and port 0. */
export interface ServiceConfig {
  readonly host: string;
  readonly port: number;
  readonly opsPort: number;
  readonly redisUrl: string;
  readonly keyPrefix: string;
  readonly durability: 'strict' | 'relaxed';
  readonly breakwater: BreakwaterConfig;
}

export interface ServiceDefaults {
  readonly name: string;
  /** 0 where the service has no port beside its ops port. */
  readonly port: number;
  readonly opsPort: number;
  /** Longer than the longest thing the service finishes before it stops. */
  readonly shutdownTimeoutMs: number;
}

/** Reads environment and configuration, then runs the service until it is told to stop. Resolves to the exit code. */
export async function serviceMain(
  env: NodeJS.ProcessEnv,
  defaults: ServiceDefaults,
  start: (config: ServiceConfig, context: ServiceContext) => Promise<unknown>,
): Promise<number> {
  const { name } = defaults;
  let environment: Environment;
  try {
    environment = readEnvironment(env);
  } catch (error) {
    // The environment itself is wrong, so the wanted log level is not known.
    createLogger({ service: name, level: 'info' }).fatal(messageOf(error));
    return 1;
  }
  const logger = createLogger({
    service: name,
    level: environment.LOG_LEVEL,
    pretty: environment.LOG_PRETTY,
  });
  const shutdownTimeoutMs = environment.SHUTDOWN_TIMEOUT_MS ?? defaults.shutdownTimeoutMs;
  return runService({ name, logger, shutdownTimeoutMs }, async (context) => {
    const config: ServiceConfig = {
      host: environment.HOST,
      port: environment.PORT ?? defaults.port,
      opsPort: environment.OPS_PORT ?? defaults.opsPort,
      redisUrl: environment.REDIS_URL,
      keyPrefix: environment.KEY_PREFIX,
      durability: environment.DURABILITY,
      breakwater: loadConfig(environment, env),
    };
    await start(config, context);
  });
}
