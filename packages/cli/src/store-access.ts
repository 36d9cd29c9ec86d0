import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis, isConnectionLost, type Redis } from '@breakwater/store/connection';
import { createKeyspace, type Keyspace } from '@breakwater/store/keys';
import type { CliContext } from './context.ts';

/** Longer than a slow network needs, shorter than a person's patience. */
const REACH_WITHIN_MS = 3_000;
/** A Redis that restarts in the middle of a command is back within a second or two. */
const OUTAGE_MS = 5_000;
/** Closing waits for Redis in places; a command that has its answer does not. */
const CLOSE_WITHIN_MS = 2_000;

/** stdout belongs to the result, and what goes wrong is told once, as the command's error. */
export const SILENT = createLogger({ service: 'cli', level: 'silent' });

export interface Store {
  readonly redis: Redis;
  readonly keys: Keyspace;
}

/** Runs `work` with a connection for reading and writing records. Throws AppError redis_unavailable within seconds. */
export async function withStore<T>(
  context: CliContext,
  work: (store: Store) => Promise<T>,
  { outageMs = OUTAGE_MS }: { readonly outageMs?: number } = {},
): Promise<T> {
  const { REDIS_URL, KEY_PREFIX } = context.environment();
  const redis = connectRedis(REDIS_URL, 'scripts', SILENT);
  try {
    await reach(redis, REDIS_URL);
    return await whileReachable(redis, REDIS_URL, outageMs, () =>
      work({ redis, keys: createKeyspace(KEY_PREFIX) }),
    );
  } finally {
    await closeRedis(redis);
  }
}

export type Deliveries = ReturnType<typeof openDeliveries> & { readonly config: BreakwaterConfig };

/**
 * Runs `work` with what moving deliveries needs: the transitions, the alarm clocks and the configuration, whose
 * schedules the transitions follow. Throws AppError redis_unavailable within seconds, and config_invalid.
 */
export async function withDeliveries<T>(
  context: CliContext,
  work: (deliveries: Deliveries) => Promise<T>,
): Promise<T> {
  const config = context.config();
  const { REDIS_URL, KEY_PREFIX } = context.environment();
  // Asked first: BullMQ's queues never become usable, nor closable, when their connection does not come up.
  await withStore(context, async () => undefined);
  const stack = new AsyncDisposableStack();
  let redis: Redis | undefined;
  try {
    const deliveries = openDeliveries(
      { redisUrl: REDIS_URL, keyPrefix: KEY_PREFIX, breakwater: config },
      { logger: SILENT, defer: (_label, close) => stack.defer(async () => void (await close())) },
    );
    redis = deliveries.redis;
    return await whileReachable(redis, REDIS_URL, OUTAGE_MS, () => work({ ...deliveries, config }));
  } finally {
    await within(CLOSE_WITHIN_MS, stack.disposeAsync());
    redis?.disconnect(); // where closing was not over in time, it would try to reconnect for ever
  }
}

const unreachable = (url: string, why: string, remedy: string): AppError =>
  new AppError(
    'redis_unavailable',
    `Redis at ${withoutPassword(url)} is not reachable: ${why.replace(/\.$/, '')}.`,
    { remedy },
  );
const wentAway = (url: string): AppError =>
  unreachable(
    url,
    'it went away in the middle of the command',
    'When it is back, look at what was done before you run the command again.',
  );
const START_IT = 'Start it (npm start), or correct REDIS_URL.';
/** It answers, but not to these credentials. */
const REFUSED = /WRONGPASS|NOAUTH/;

/** Waits for the connection's first sign of life. A refused connection or password is told at once. */
async function reach(redis: Redis, url: string): Promise<void> {
  const outcome = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => outcome.reject(unreachable(url, `no answer within ${REACH_WITHIN_MS / 1_000} s`, START_IT)),
    REACH_WITHIN_MS,
  );
  const onReady = (): void => outcome.resolve();
  const onError = (error: unknown): void => {
    const why = messageOf(error);
    const remedy = REFUSED.test(why) ? 'Correct the user and the password in REDIS_URL.' : START_IT;
    outcome.reject(unreachable(url, why, remedy));
  };
  redis.once('ready', onReady);
  redis.once('error', onError);
  try {
    await outcome.promise;
  } finally {
    clearTimeout(timer);
    redis.off('ready', onReady);
    redis.off('error', onError);
  }
}

/** Ends with an error when Redis stays away in the middle; the connection itself would wait for ever. */
async function whileReachable<T>(
  redis: Redis,
  url: string,
  outageMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const lost = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onClose = (): void => {
    timer ??= setTimeout(() => lost.reject(wentAway(url)), outageMs);
  };
  const onReady = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  redis.on('close', onClose);
  redis.on('ready', onReady);
  if (redis.status !== 'ready') onClose();
  try {
    return await Promise.race([work(), lost.promise]);
  } catch (error) {
    throw explain(error, url);
  } finally {
    clearTimeout(timer);
    redis.off('close', onClose);
    redis.off('ready', onReady);
  }
}

/** An answer such as OOM or NOPERM, or a connection that was closed, is Redis' trouble, not a fault of ours. */
function explain(error: unknown, url: string): unknown {
  if (isConnectionLost(error)) return wentAway(url);
  if (!(error instanceof Error) || error.name !== 'ReplyError') return error;
  return new AppError(
    'redis_unavailable',
    `Redis at ${withoutPassword(url)} refused a command: ${error.message}`,
    {
      cause: error,
      remedy: 'See its words, and its log: it may be out of memory, or the user lack a right.',
    },
  );
}

function withoutPassword(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  // A close that fails leaves nothing behind that the end of the process does not take along.
  await Promise.race([work.catch(() => undefined), late.promise]);
  clearTimeout(timer);
}
