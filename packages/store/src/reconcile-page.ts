import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const pageScript = loadScript('reconcile-page', { prelude: true });

/** Where a walk through the events stands: the last event that was looked at. */
export interface WalkPosition {
  /** When it was recorded, ms. */
  readonly at: number;
  readonly event: string;
}

/** An event and what became of it at one target, where not all is as it should be. Times are Redis' clock, ms. */
export interface Suspect {
  readonly delivery: string;
  readonly operator: string;
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly recordedAt: number;
  /** The event's record is gone; only the index still names it. */
  readonly eventLost: boolean;
  /** The event's plan has the target. */
  readonly planned: boolean;
  /** The delivery record; undefined where there is none. */
  readonly record: SuspectRecord | undefined;
  /** What the ERP listed for it, where it was asked. */
  readonly document: string | undefined;
}

export interface SuspectRecord {
  readonly status: DeliveryStatus;
  readonly createdAt: number;
  readonly sentAt: number;
  /** Creating answers of the ERP. */
  readonly created: number;
  /** A document that only a look-up revealed. */
  readonly found: boolean;
  /** An attempt may have been applied without our knowing. */
  readonly doubt: boolean;
  /** Since when; 0 where that is not known: a record in doubt since before this was written. */
  readonly doubtAt: number;
  readonly inFlight: boolean;
  readonly nextAttemptAt: number;
  /** `no`: neither an alarm nor a place at a gate stands for it, so nobody would come back to it. */
  readonly armed: 'armed' | 'waiting' | 'no';
  readonly reference: string | undefined;
  readonly receipt: string;
  readonly reason: string;
  readonly last: { readonly class: string; readonly code: string; readonly endedAt: number } | undefined;
}

export interface WalkPage {
  /** Redis' clock. */
  readonly now: number;
  readonly events: number;
  /** Of those, with a delivery to the target. */
  readonly deliveries: number;
  /** Of those, open and not overdue: they wait for their time, or at a gate. */
  readonly open: number;
  readonly position: WalkPosition | undefined;
  readonly ended: boolean;
  readonly suspects: readonly Suspect[];
}

export interface WalkInput {
  readonly destination: string;
  readonly since: number;
  readonly until: number;
  readonly after: WalkPosition | undefined;
  readonly limit: number;
  readonly graceMs: number;
  /** Whose events may go to the destination. */
  readonly operators: readonly string[];
  /** Name of what the ERP listed (`documents.ts`); undefined when it was not asked. */
  readonly documents: string | undefined;
}

/** Reads the next page of a walk through the events of a time range. */
export async function readWalkPage(redis: Redis, keys: Keyspace, input: WalkInput): Promise<WalkPage> {
  const { destination, since, until, after, limit, graceMs, operators, documents } = input;
  const [now, events, deliveries, open, at, event, ended, ...texts] = await pageScript.run(
    redis,
    [keys.recorded, documents === undefined ? '' : keys.documents(documents)],
    [
      keys.prefix,
      destination,
      since,
      until,
      after?.at ?? '',
      after?.event ?? '',
      limit,
      graceMs,
      JSON.stringify(operators),
    ],
  );
  return {
    now: Number(now),
    events: Number(events),
    deliveries: Number(deliveries),
    open: Number(open),
    position: at === '' ? undefined : { at: Number(at), event: String(event) },
    ended: ended === 1,
    suspects: texts.map((text) => toSuspect(JSON.parse(String(text)) as Facts, Number(now))),
  };
}

type Facts = Readonly<Record<string, string | undefined>> & {
  readonly recordedAt: number;
  readonly planned?: true;
  readonly eventLost?: true;
};

function toSuspect(facts: Facts, now: number): Suspect {
  return {
    delivery: facts['id'] ?? '',
    operator: facts['operator'] ?? '',
    source: facts['source'] ?? '',
    eventId: facts['eventId'] ?? '',
    type: facts['type'] ?? '',
    recordedAt: facts.recordedAt,
    eventLost: facts.eventLost === true,
    planned: facts.planned === true,
    document: facts['document'],
    record: facts['status'] === undefined ? undefined : toRecord(facts, now),
  };
}

function toRecord(facts: Facts, now: number): SuspectRecord {
  const number = (field: string): number => Number(facts[field] ?? 0);
  return {
    status: facts['status'] as DeliveryStatus,
    createdAt: number('createdAt'),
    sentAt: number('sentAt'),
    created: number('created'),
    found: facts['found'] === '1',
    doubt: facts['doubt'] === '1',
    doubtAt: number('doubtAt'),
    inFlight: facts['run'] !== undefined && number('runUntil') > now,
    nextAttemptAt: number('nextAttemptAt'),
    armed: (facts['armed'] as SuspectRecord['armed'] | undefined) ?? 'armed',
    reference: facts['reference'],
    receipt: facts['receipt'] ?? '',
    reason: facts['reason'] ?? '',
    last: lastOf(facts['last'] ?? ''),
  };
}

/** A row of an attempt: `s|begunAt|lateMs|durationMs|class|code` (prelude.lua). */
function lastOf(row: string): SuspectRecord['last'] {
  if (row === '') return undefined;
  const [, begunAt, , durationMs, failureClass = '', code = ''] = row.split('|');
  return { class: failureClass, code, endedAt: Number(begunAt) + Number(durationMs) };
}
