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
  /** After the signal to stop, until the process is ended whatever is in flight. */
  readonly shutdownTimeoutMs: number;
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
export function serviceMain(
  env: NodeJS.ProcessEnv,
  defaults: ServiceDefaults,
  start: (config: ServiceConfig, context: ServiceContext) => Promise<unknown>,
): Promise<number> {
  return processMain(env, defaults, (environment, context) =>
    start(
      {
        host: environment.HOST,
        port: environment.PORT ?? defaults.port,
        opsPort: environment.OPS_PORT ?? defaults.opsPort,
        redisUrl: environment.REDIS_URL,
        keyPrefix: environment.KEY_PREFIX,
        durability: environment.DURABILITY,
        breakwater: loadConfig(environment, env),
        shutdownTimeoutMs: environment.SHUTDOWN_TIMEOUT_MS ?? defaults.shutdownTimeoutMs,
      },
      context,
    ),
  );
}

/** The same for a process without a configuration: only the environment is read. */
export async function processMain(
  env: NodeJS.ProcessEnv,
  defaults: Pick<ServiceDefaults, 'name' | 'shutdownTimeoutMs'>,
  start: (environment: Environment, context: ServiceContext) => Promise<unknown>,
): Promise<number> {
  const { name } = defaults;
  // For ps and top, where every process would be called MainThread; they show 15 characters.
  process.title = `bw-${name}`;
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
    await start(environment, context);
  });
}
