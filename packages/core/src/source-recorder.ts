import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import type { AckTotal } from '@breakwater/runtime/metrics-ingest';
import { noteAcks } from '@breakwater/store/acks';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import {
  HOUR_MS,
  HOURS_KEPT,
  noteSourceKnown,
  noteSourceUse,
  type SecretName,
} from '@breakwater/store/source-use';
import { createAckReader } from './ack-times.ts';

/** A verified request. */
export interface SeenRequest {
  readonly source: string;
  /** Ids of the secrets that it was verified with. */
  readonly secrets: readonly string[];
  /** Did it bring a new event? */
  readonly accepted: boolean;
  /** ms since the epoch. */
  readonly at: number;
}

export interface SourceRecorder {
  /** Remembers a verified request. Takes no time to speak of, never throws, never waits for Redis. */
  readonly saw: (request: SeenRequest) => void;
  /** Tells what is still untold, if Redis is there, and closes. */
  readonly close: () => Promise<void>;
}

export interface SourceRecorderOptions {
  readonly redisUrl: string;
  readonly keyPrefix: string;
  readonly sources: BreakwaterConfig['sources'];
  readonly logger: Logger;
  /** How long acknowledgements took, as the metric counts it; the console shows it of all processes together. */
  readonly acknowledgements?: () => Promise<readonly AckTotal[]>;
  readonly everyMs?: number;
}

/** At most one command per source in so long, whatever the load; people ask in days. */
const EVERY_MS = 10_000;

/** What one source has done since it was last told. Bounded by the secrets of the configuration and by HOURS_KEPT. */
interface Untold {
  lastSeenAt: number;
  lastAcceptedAt: number | undefined;
  readonly hours: Map<number, number>;
  readonly secrets: Map<string, number>;
}

/**
 * Keeps in Redis when each source and each of its secrets was last used, so that a rotation can be finished and a source
 * that went quiet is noticed. Nothing that a sender waits for depends on it: requests are noted in memory and told in the
 * background, over a connection of its own, which no accepted event queues behind. What was seen since the last telling
 * is lost when the process is killed.
 */
export function createSourceRecorder(options: SourceRecorderOptions): SourceRecorder {
  const { logger } = options;
  const keys = createKeyspace(options.keyPrefix);
  // The acceptor says that Redis is away; once is enough.
  const redis = connectRedis(options.redisUrl, 'producer', logger.child({}, { level: 'silent' }));
  const secretsOf = new Map(
    Object.entries(options.sources).map(([name, { secrets }]) => [
      name,
      new Map<string, SecretName>(secrets.map((secret) => [secret.id, secret])),
    ]),
  );
  const unknown = new Set(secretsOf.keys());
  const untold = new Map<string, Untold>();

  const announce = async (source: string): Promise<void> => {
    await noteSourceKnown(redis, keys, source, [...(secretsOf.get(source)?.values() ?? [])], Date.now());
    unknown.delete(source);
  };
  const tell = async (source: string, seen: Untold): Promise<void> => {
    untold.delete(source);
    try {
      await noteSourceUse(redis, keys, source, {
        lastSeenAt: seen.lastSeenAt,
        ...(seen.lastAcceptedAt !== undefined && { lastAcceptedAt: seen.lastAcceptedAt }),
        hours: seen.hours,
        secrets: [...seen.secrets].flatMap(([id, lastUsedAt]) => {
          const secret = secretsOf.get(source)?.get(id);
          return secret === undefined ? [] : [{ secret, lastUsedAt }];
        }),
      });
    } catch (error) {
      merge(untold, source, seen); // it may have been told all the same: then the hour counts it twice
      throw error;
    }
  };
  const freshAcks = createAckReader(options.acknowledgements ?? (async () => []));
  const tellAll = async (): Promise<void> => {
    const acks = await freshAcks(); // untold ones are given up: told later they would be of another minute
    if (redis.status !== 'ready') return;
    try {
      await noteAcks(redis, keys, acks);
      for (const source of unknown) await announce(source);
      const due = [...untold]; // what comes meanwhile waits for the next turn, or a busy source would be told without end
      for (const [source, seen] of due) await tell(source, seen);
    } catch (error) {
      logger.debug({ reason: messageOf(error) }, 'the use of the sources could not be noted');
    }
  };

  let telling = Promise.resolve();
  const tellInTurn = (): void => void (telling = telling.then(tellAll));
  const timer = setInterval(tellInTurn, options.everyMs ?? EVERY_MS);
  timer.unref();
  redis.on('ready', tellInTurn);

  return {
    saw({ source, secrets, accepted, at }) {
      merge(untold, source, {
        lastSeenAt: at,
        lastAcceptedAt: accepted ? at : undefined,
        hours: new Map([[Math.floor(at / HOUR_MS), 1]]),
        secrets: new Map(secrets.map((id) => [id, at])),
      });
    },
    async close() {
      clearInterval(timer);
      redis.off('ready', tellInTurn);
      tellInTurn();
      await telling; // as long as commands take until they are given up: 1.5 s each, and the first that fails is the last
      await closeRedis(redis);
    },
  };
}

function merge(untold: Map<string, Untold>, source: string, more: Untold): void {
  const known = untold.get(source);
  if (known === undefined) {
    untold.set(source, more);
    return;
  }
  known.lastSeenAt = Math.max(known.lastSeenAt, more.lastSeenAt);
  if (more.lastAcceptedAt !== undefined)
    known.lastAcceptedAt = Math.max(known.lastAcceptedAt ?? 0, more.lastAcceptedAt);
  for (const [id, at] of more.secrets) known.secrets.set(id, Math.max(known.secrets.get(id) ?? 0, at));
  for (const [hour, count] of more.hours) {
    known.hours.set(hour, (known.hours.get(hour) ?? 0) + count);
    // Only an outage of Redis makes them many. Of two weeks of it the oldest hours go first.
    if (known.hours.size > HOURS_KEPT) known.hours.delete(Math.min(...known.hours.keys()));
  }
}
