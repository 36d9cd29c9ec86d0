import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';
import { AppError } from '@breakwater/runtime/errors';
import type { PortUse } from './ports.ts';
import { redisUrl } from './redis.ts';

export interface ServicePlan {
  readonly name: string;
  /** Path of its main.ts. */
  readonly main: string;
  readonly env: NodeJS.ProcessEnv;
  /** Answers 200 when the service can be used. */
  readonly readyUrl: string;
  readonly ports: readonly PortUse[];
  /** The highest stage is stopped first; Redis is stage 0 and goes last. */
  readonly stage: number;
}

/** Everything that one stack is, so that tests can run other programs in it. */
export interface StackPlan {
  readonly dataDir: string;
  /** Address that the services listen on. */
  readonly host: string;
  readonly redisPort: number;
  readonly redisBinary: string;
  readonly services: readonly ServicePlan[];
  /** Printed when everything is ready. */
  readonly banner: string;
}

export interface StackSettings {
  /** Added to every port, so that two stacks can run side by side. */
  readonly portOffset: number;
  readonly dataDir: string;
  readonly host: string;
  readonly webhookSecret: string;
}

/** The highest port of a stack is 9103. */
const PORT_OFFSET_MAX = 65_535 - 9_103;

/**
 * Reads PORT_OFFSET, BREAKWATER_DATA_DIR (default `.data`, below it a directory per offset), HOST and
 * DEMO_WEBHOOK_SECRET. Throws AppError config_invalid.
 */
export function readSettings(env: NodeJS.ProcessEnv, root: string): StackSettings {
  const text = env['PORT_OFFSET'] || '0';
  const portOffset = Number(text);
  if (!/^\d{1,5}$/.test(text) || portOffset > PORT_OFFSET_MAX) {
    throw new AppError(
      'config_invalid',
      `PORT_OFFSET is "${text}": expected a number from 0 to ${PORT_OFFSET_MAX}, which is added to every port.`,
    );
  }
  const ownDir = portOffset === 0 ? '.data' : `.data/offset-${portOffset}`;
  return {
    portOffset,
    dataDir: resolve(root, env['BREAKWATER_DATA_DIR'] || ownDir),
    // Some shells export HOST as the name of the machine, which is not what is meant here.
    host: isIP(env['HOST'] ?? '') === 0 ? '127.0.0.1' : (env['HOST'] ?? ''),
    webhookSecret: env['DEMO_WEBHOOK_SECRET'] || DEMO_WEBHOOK_SECRET,
  };
}

/** Public on purpose: it signs nothing but demonstrations. */
export const DEMO_WEBHOOK_SECRET = 'demo-webhook-secret';

export interface StackPorts {
  readonly redis: number;
  readonly simulator: number;
  readonly ingest: number;
  readonly ingestOps: number;
  readonly dispatcherOps: number;
  readonly erpConsumerOps: number;
  readonly console: number;
  readonly consoleOps: number;
}

export function portsOf(settings: StackSettings): StackPorts {
  const at = (port: number): number => port + settings.portOffset;
  return {
    redis: at(6_390),
    simulator: at(8_090),
    ingest: at(8_080),
    ingestOps: at(9_100),
    dispatcherOps: at(9_101),
    erpConsumerOps: at(9_102),
    console: at(8_081),
    consoleOps: at(9_103),
  };
}

/** Where this machine reaches a server that listens on `host`. */
export const reachable = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : isIP(host) === 6 ? `[${host}]` : host;

/** What `npm start` runs: the simulator, which is stopped after the services that post to it, then the services. */
export function planServices(
  settings: StackSettings,
  callerEnv: NodeJS.ProcessEnv,
  root: string,
): readonly ServicePlan[] {
  const ports = portsOf(settings);
  const url = (port: number): string => `http://${reachable(settings.host)}:${port}`;
  const env: NodeJS.ProcessEnv = {
    ...callerEnv,
    HOST: settings.host,
    REDIS_URL: redisUrl(ports.redis),
    BREAKWATER_CONFIG: callerEnv['BREAKWATER_CONFIG'] || join(root, 'breakwater.config.yaml'),
    ERP_SIMULATOR_URL: url(ports.simulator),
    LOG_PRETTY: callerEnv['LOG_PRETTY'] || 'true',
    // At info every attempt and every posting is a line: thousands in a storm, and the terminal is this stack's only face.
    LOG_LEVEL: callerEnv['LOG_LEVEL'] || 'warn',
    // A third off the start of a service, which is most of what a restart takes.
    NODE_COMPILE_CACHE: callerEnv['NODE_COMPILE_CACHE'] || join(settings.dataDir, 'compile-cache'),
  };
  const service = (name: string, opsPort: number, port?: number): ServicePlan => ({
    name,
    main: join(root, 'services', name, 'src/main.ts'),
    env: { ...env, PORT: port === undefined ? undefined : String(port), OPS_PORT: String(opsPort) },
    readyUrl: `${url(opsPort)}/readyz`,
    ports: [...(port === undefined ? [] : [{ port, use: name }]), { port: opsPort, use: `${name} (ops)` }],
    stage: 2,
  });
  const simulator: ServicePlan = {
    name: 'erp-simulator',
    main: join(root, 'infra/erp-simulator/src/main.ts'),
    env: {
      ...env,
      PORT: String(ports.simulator),
      ERP_SIMULATOR_DATA: join(settings.dataDir, 'erp/receipts.ndjson'),
    },
    readyUrl: `${url(ports.simulator)}/api/stats`,
    ports: [{ port: ports.simulator, use: 'erp-simulator' }],
    stage: 1,
  };
  return [
    simulator,
    service('ingest', ports.ingestOps, ports.ingest),
    service('dispatcher', ports.dispatcherOps),
    service('erp-consumer', ports.erpConsumerOps),
    service('console', ports.consoleOps, ports.console),
  ];
}

/**
 * Reads what the services will read, so that a mistake is said once and not by each of them. Throws AppError
 * config_invalid listing the mistakes. Returns the names of the sources.
 */
export function checkConfiguration(services: readonly ServicePlan[]): readonly string[] {
  const [first] = services; // they differ in ports and files only, which are ours
  return first === undefined ? [] : Object.keys(loadConfig(readEnvironment(first.env), first.env).sources);
}
