import { decodeEventJob, type EventJob } from '@breakwater/contracts/jobs';
import type { Queue } from 'bullmq';

/** A failed `events` job: an accepted event that has no deliveries yet. */
export interface FailedEvent {
  readonly job: string;
  /** Undefined where this version cannot read the payload. */
  readonly event: Pick<EventJob, 'operator' | 'source' | 'eventId' | 'type' | 'receivedAt'> | undefined;
  readonly why: string;
}

/** A job carries a body of up to 25 MiB. */
const PAGE = 20;

/** All failed `events` jobs, page by page. One that is run again meanwhile may be missed: it is not failed any more. */
export async function* failedEventPages(events: Queue<unknown>): AsyncGenerator<FailedEvent[]> {
  for (let from = 0; ; from += PAGE) {
    const jobs = await events.getFailed(from, from + PAGE - 1);
    if (jobs.length > 0)
      yield jobs.map(({ id = '', data, failedReason }) => ({
        job: id,
        event: read(data),
        // In one line, and short: an error may quote what it could not read.
        why: (failedReason ?? '').replaceAll(/\s+/g, ' ').slice(0, 200),
      }));
    if (jobs.length < PAGE) return;
  }
}

function read(data: unknown): FailedEvent['event'] {
  try {
    const { operator, source, eventId, type, receivedAt } = decodeEventJob(data);
    return { operator, source, eventId, type, receivedAt };
  } catch {
    return undefined;
  }
}
