import { decodeEventJob } from '@breakwater/contracts/jobs';
import { messageOf } from '@breakwater/runtime/errors';
import { Job, type Queue } from 'bullmq';
import type { Redis } from 'ioredis';

/** A failed `events` job whose payload this version cannot read. It is kept until a version that can looks at it. */
export interface ParkedEvent {
  readonly job: string;
  /** When it failed, ms since the epoch, the clock of the process that tried. */
  readonly failedAt: number;
  readonly why: string;
}

const PAGE = 500;
/** Failed jobs looked at: they are rare, and whoever has more has other worries than an exact number. */
const PAGES = 10;

/** The failed jobs, apart: those that may be run again, and those that would only fail again. */
export async function sortFailedEvents(
  events: Queue<unknown>,
  redis: Redis,
  limit: number,
): Promise<{ runnable: Job<unknown>[]; parked: ParkedEvent[] }> {
  const runnable: Job<unknown>[] = [];
  const parked: ParkedEvent[] = [];
  for (let page = 0; page < PAGES && runnable.length < limit; page += 1) {
    const ids = await events.getRanges(['failed'], page * PAGE, (page + 1) * PAGE - 1);
    for (const job of await Promise.all(ids.map((id) => read(events, redis, id)))) {
      if (job === undefined) continue; // somebody else runs it again by now
      if (!(job instanceof Job)) {
        parked.push(job);
        continue;
      }
      const why = whyUnreadable(job.data);
      if (why === undefined) runnable.push(job);
      else parked.push({ job: job.id ?? '', failedAt: job.finishedOn ?? job.timestamp, why });
    }
    if (ids.length < PAGE) break;
  }
  return { runnable: runnable.slice(0, limit), parked };
}

/** BullMQ throws for a payload that is no JSON, and one such job must not hide the others. */
async function read(
  events: Queue<unknown>,
  redis: Redis,
  id: string,
): Promise<Job<unknown> | ParkedEvent | undefined> {
  try {
    return await Job.fromId<unknown>(events, id);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return {
      job: id,
      failedAt: Number(await redis.hget(events.toKey(id), 'finishedOn')),
      why: 'the payload is no JSON',
    };
  }
}

function whyUnreadable(data: unknown): string | undefined {
  try {
    decodeEventJob(data);
    return undefined;
  } catch (error) {
    const v = typeof data === 'object' && data !== null && 'v' in data ? data.v : undefined;
    // The payload itself is never shown: it is somebody's data.
    return `payload version ${typeof v === 'number' ? v : 'unknown'}: ${messageOf(error).replaceAll(/\s+/g, ' ').slice(0, 200)}`;
  }
}
