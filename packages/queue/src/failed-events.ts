import { decodeEventJob } from '@breakwater/contracts/jobs';
import { messageOf } from '@breakwater/runtime/errors';
import type { Job, Queue } from 'bullmq';

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
  limit: number,
): Promise<{ runnable: Job<unknown>[]; parked: ParkedEvent[] }> {
  const runnable: Job<unknown>[] = [];
  const parked: ParkedEvent[] = [];
  for (let page = 0; page < PAGES && runnable.length < limit; page += 1) {
    const jobs = await events.getFailed(page * PAGE, (page + 1) * PAGE - 1);
    for (const job of jobs) {
      const why = whyUnreadable(job.data);
      if (why === undefined) runnable.push(job);
      else parked.push({ job: job.id ?? '', failedAt: job.finishedOn ?? job.timestamp, why });
    }
    if (jobs.length < PAGE) break;
  }
  return { runnable: runnable.slice(0, limit), parked };
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
