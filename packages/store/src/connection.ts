import type { Logger } from '@breakwater/runtime/logger';
import { messageOf } from '@breakwater/runtime/errors';
import { Redis, type RedisOptions } from 'ioredis';

export type { Redis } from 'ioredis';

/**
 * - `producer`: fails fast, and writes what is asked for at once together. For ingest, where a caller waits and a 503 is the
 *   honest answer.
 * - `worker`: waits for Redis to come back. For BullMQ workers, whose blocking reads outlast any command time-out.
 * - `scripts`: waits, but not for ever. For everything that runs beside a worker, and for the CLI.
 */
export type ConnectionKind = 'producer' | 'worker' | 'scripts';

type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

const OPTIONS: Record<ConnectionKind, ConnectionOptions> = {
  // 1.5 s: ingest must answer 503 within 2 s when Redis is silent.
  producer: {
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: 1_500,
    socketTimeout: 5_000,
    connectTimeout: 1_500,
  },
  // Only socketTimeout frees a worker from a dead connection; it must outlast BullMQ's blocking reads (up to 10 s).
  worker: { maxRetriesPerRequest: null, socketTimeout: 30_000 },
  scripts: { maxRetriesPerRequest: null, socketTimeout: 15_000 },
};

/**
 * Commands of one turn of the event loop go out together, at its end: under load many share a system call here and one in
 * Redis, where each would cost its own. Their order, their answers and their time limits stay as they are.
 */
class GatheringRedis extends Redis {
  override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
    const socket: Redis['stream'] | undefined = this.stream; // none before the first connection
    if (socket?.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    return super.sendCommand(command, stream);
  }
}

/**
 * Opens a connection that reconnects by itself (at most 1 s apart, so that a restart of Redis costs about a second).
 * Never throws and never emits an unhandled error: trouble is logged once per outage.
 */
export function connectRedis(
  url: string,
  kind: ConnectionKind,
  logger: Logger,
  more: ConnectionOptions = {},
): Redis {
  const options: ConnectionOptions = {
    ...OPTIONS[kind],
    keepAlive: 10_000,
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), 1_000),
    // A demoted primary answers READONLY; 2 = reconnect and send the command again.
    reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 2 : false),
    ...more,
  };
  const redis = kind === 'producer' ? new GatheringRedis(url, options) : new Redis(url, options);
  let reported = false;
  redis.on('error', (error: unknown) => {
    if (!reported) logger.warn({ connection: kind, reason: messageOf(error) }, 'Redis is not reachable');
    reported = true;
  });
  redis.on('ready', () => {
    if (reported) logger.info({ connection: kind }, 'Redis is reachable again');
    reported = false;
  });
  return redis;
}

/** Closes a connection: politely when it works, at once when it does not. */
export async function closeRedis(redis: Redis): Promise<void> {
  if (redis.status === 'end') return;
  if (redis.status === 'ready') {
    await redis.quit().catch(() => redis.disconnect());
    return;
  }
  redis.disconnect();
}

/**
 * Did this command end because its connection was closed under it? ioredis sends a lost command again, but not one of a
 * pipeline that was answered in part, nor any once it has given up. By its words: they have neither a code nor a class.
 */
export const isConnectionLost = (error: unknown): boolean => LOST.test(messageOf(error));
const LOST = /^(?:Command aborted due to connection close|Connection is closed\.)$/;
