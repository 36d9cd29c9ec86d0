import { erpTargetOf } from '@breakwater/contracts/ids';
import { contentOf } from '@breakwater/core/event-content';
import type { EventDelivery, EventStatus } from '@breakwater/core/run-status';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import { pause } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import { type EventRecord, readEvent } from '@breakwater/store/events';
import type { Keyspace } from '@breakwater/store/keys';

export interface Figures {
  readonly run: string;
  readonly source: string;
  readonly orders: number;
  readonly deliveries: number;
  readonly acknowledged: number;
  /** Events of this run that the ledger has counted since it began. */
  readonly accepted: number;
  /** Acknowledged deliveries that were no new event. */
  readonly deduped: number;
  /** Documents at the ERP for this run's references. */
  readonly postings: number;
  readonly distinctReferences: number;
  readonly duplicates: number;
  /** Deliveries to ERP targets that are `sent`, and those that are dead letters. */
  readonly sent: number;
  readonly deadLetters: readonly { readonly delivery: string; readonly reason: string }[];
  /** Deliveries of the same events to endpoints that want them too; they have no part in what is exact. */
  readonly endpoints: { readonly sent: number; readonly deadLetters: number };
  /** Sends without a 2xx that were repeated. */
  readonly retries: number;
  readonly ack: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  readonly seconds: number;
  readonly exact: boolean;
  /** What is not exact, in sentences. */
  readonly problems: readonly string[];
}

export interface ErpFigures {
  /** Deliveries to ERPs that can be asked, and how many of them are dead letters. */
  readonly owed: number;
  readonly dead: number;
  readonly postings: number;
  readonly distinctReferences: number;
  /** References that the ERP did not answer for. */
  readonly unanswered: number;
}

/** A look-up that the ERP's faults keep from answering is asked again; a storm is often run with faults. */
const LOOKUPS = 50;

/** Counts the ERP's documents for the references of a run, by the targets' own look-ups. */
export async function countAtErp(
  statuses: readonly EventStatus[],
  targets: ReadonlyMap<string, ReadyErpTarget>,
  store: { readonly redis: Redis; readonly keys: Keyspace },
): Promise<ErpFigures> {
  const figures = { owed: 0, dead: 0, postings: 0, distinctReferences: 0, unanswered: 0 };
  for (const status of statuses) {
    for (const delivery of status.deliveries) {
      const target = targets.get(erpTargetOf(delivery.destination) ?? '');
      const event = target?.adapter.find ? await readEvent(store.redis, store.keys, status.key) : undefined;
      if (!target || !event) continue;
      const documents = await countDocuments(target, event, delivery.reference ?? event.eventId);
      figures.owed += 1;
      if (delivery.status === 'dead_letter') figures.dead += 1;
      if (documents === undefined) figures.unanswered += 1;
      figures.postings += documents ?? 0;
      if (documents !== undefined && documents > 0) figures.distinctReferences += 1;
    }
  }
  return figures;
}

/** Documents under one reference; undefined when the ERP does not say. */
async function countDocuments(
  target: ReadyErpTarget,
  event: EventRecord,
  reference: string,
): Promise<number | undefined> {
  const input = contentOf(event).mappingInput;
  const document = await target.mapping.document(input, reference);
  for (let asked = 0; asked < LOOKUPS; asked += 1) {
    const found = await target.adapter.find?.(reference, input, document.ok ? document.value : undefined);
    if (found?.kind === 'found') return found.receipts.length;
    if (found?.kind === 'absent' || found?.kind === 'incomplete') return 0;
    await pause(20);
  }
  return undefined;
}

/** Nearest-rank percentile of unsorted values; 0 when there are none. */
export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((rank / 100) * sorted.length) - 1)] ?? 0;
}

export interface Outcome {
  readonly run: string;
  readonly source: string;
  readonly orders: number;
  readonly deliveries: number;
  readonly acknowledgedMs: readonly number[];
  readonly retries: number;
  /** Events of the run that were there before it. */
  readonly known: number;
  readonly statuses: readonly EventStatus[];
  /** Growth of the ledger's own counter of the source; other traffic may add to it. */
  readonly ledgerGrowth: number;
  readonly erp: ErpFigures;
  readonly seconds: number;
}

/** Draws the figures and says what is not exact. Times never decide. */
export function judge(outcome: Outcome): Figures {
  const all = outcome.statuses.flatMap((status) => status.deliveries);
  const acknowledged = outcome.acknowledgedMs.length;
  const accepted = outcome.statuses.filter((status) => status.recorded).length - outcome.known;
  const toErp = all.filter((delivery) => erpTargetOf(delivery.destination) !== undefined);
  const toEndpoints = all.filter((delivery) => erpTargetOf(delivery.destination) === undefined);
  const deadLetters = withStatus(toErp, 'dead_letter').map(({ id, reason }) => ({ delivery: id, reason }));
  const { owed, dead, postings, distinctReferences, unanswered } = outcome.erp;
  const problems: string[] = [];
  const expect = (right: boolean, problem: string): void => void (right || problems.push(problem));
  expect(
    acknowledged === outcome.deliveries,
    `${acknowledged} of ${outcome.deliveries} deliveries were acknowledged`,
  );
  expect(
    accepted === outcome.orders - outcome.known,
    `accepted ${accepted}, expected ${outcome.orders - outcome.known}`,
  );
  expect(
    outcome.ledgerGrowth >= accepted,
    `the ledger grew by ${outcome.ledgerGrowth}, less than the ${accepted} accepted`,
  );
  expect(all.length > 0, 'no route or endpoint wants these events: they are unrouted');
  expect(unanswered === 0, `the ERP did not answer for ${unanswered} references`);
  expect(postings === distinctReferences, `${postings - distinctReferences} documents too many at the ERP`);
  expect(
    distinctReferences + dead >= owed - unanswered,
    `${owed} postings were owed, but ${distinctReferences} documents and ${dead} dead letters account for fewer`,
  );
  expect(distinctReferences <= owed, `${distinctReferences} references were posted, but ${owed} were owed`);
  return {
    run: outcome.run,
    source: outcome.source,
    orders: outcome.orders,
    deliveries: outcome.deliveries,
    acknowledged,
    accepted,
    deduped: acknowledged - accepted,
    postings,
    distinctReferences,
    duplicates: postings - distinctReferences,
    sent: withStatus(toErp, 'sent').length,
    endpoints: {
      sent: withStatus(toEndpoints, 'sent').length,
      deadLetters: withStatus(toEndpoints, 'dead_letter').length,
    },
    deadLetters,
    retries: outcome.retries,
    ack: {
      p50Ms: round(percentile(outcome.acknowledgedMs, 50)),
      p99Ms: round(percentile(outcome.acknowledgedMs, 99)),
      maxMs: round(percentile(outcome.acknowledgedMs, 100)),
    },
    seconds: round(outcome.seconds),
    exact: problems.length === 0,
    problems,
  };
}

const withStatus = (deliveries: readonly EventDelivery[], status: string): EventDelivery[] =>
  deliveries.filter((delivery) => delivery.status === status);

const round = (value: number): number => Math.round(value * 10) / 10;
