import type { Finding } from '@breakwater/contracts/reconciliation';
import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import type { ListedDocument } from '@breakwater/erp/adapter';
import { readDeliveries } from '@breakwater/store/deliveries';
import {
  deliveriesOfReferences,
  firstDeliveries,
  noteDocuments,
  type OwnDocument,
  wasAnyAccepted,
} from '@breakwater/store/reconciliations';
import type { Reconciling } from './reconcile.ts';
import type { SourceOfEvents } from './reconcile-scope.ts';
import { showStep } from './reconcile-steps.ts';

/** Documents whose records are read in one go. */
const BATCH = 100;
/** The ERP's clock may be slower than Redis': documents from so long before are read too, and none of them is told. */
const CLOCK_SLACK_MS = 3_600_000;

export interface ComparedDocuments {
  readonly findings: readonly Finding[];
  readonly looked: number;
  /** Made at, ms: to go on from. */
  readonly listedTo: number;
}

/**
 * Reads what the ERP lists, asks our records for each document, and notes which delivery has which. Second documents of
 * one reference and documents of nobody's reference are findings; deliveries without a document show in the walk
 * through the records that follows. Throws AppError unavailable when the ERP does not answer.
 */
export async function* compareDocuments(
  all: Reconciling,
  run: string,
  listedTo: number | undefined,
): AsyncGenerator<ComparedDocuments> {
  const { target, since, signal } = all.input;
  const from = listedTo ?? Math.max(0, since - CLOCK_SLACK_MS);
  let batch: ListedDocument[] = [];
  for await (const document of target.adapter.list?.(from, signal) ?? []) {
    batch.push(document);
    if (batch.length < BATCH) continue;
    yield { findings: await compare(all, run, batch), looked: batch.length, listedTo: document.at };
    batch = [];
  }
  const last = batch.at(-1);
  if (last) yield { findings: await compare(all, run, batch), looked: batch.length, listedTo: last.at };
}

async function compare(all: Reconciling, run: string, listed: readonly ListedDocument[]): Promise<Finding[]> {
  const { redis, keys } = all;
  // A draft has no effect yet: it may be a posting on its way.
  const documents = listed.filter(({ complete }) => complete);
  const owners = await ownersOf(all, documents);
  const ours = documents.flatMap((document, index) => {
    const owner = owners[index];
    return owner ? [{ document, owner, name: nameOf(document) }] : [];
  });
  const firsts = await noteDocuments(
    redis,
    keys,
    run,
    ours.map(({ owner, name }) => ({ delivery: owner.delivery, document: name })),
  );
  const findings: Finding[] = [];
  for (const [index, { document, owner, name }] of ours.entries()) {
    if (!isInRange(all, document)) continue;
    const receipts = await otherThan(all, document, owner, name, firsts[index] ?? name);
    if (receipts) findings.push(await secondDocument(all, document, owner, receipts));
  }
  for (const [index, document] of documents.entries())
    if (!owners[index] && isInRange(all, document) && !(await wasAccepted(all, document.reference)))
      findings.push(foreign(all, document));
  return findings;
}

const nameOf = ({ documentId, at }: ListedDocument): string => documentId || `made at ${at}`;
const isInRange = ({ input }: Reconciling, { at }: ListedDocument): boolean =>
  at >= input.since && at <= input.until;

const idsOf = (all: Reconciling, sources: readonly SourceOfEvents[], reference: string): string[] =>
  sources.map(({ operator, source }) => deliveryId(eventKey(operator, source, reference), all.destination));

/** Whose document each is. The way that the configuration says is tried first, then all ways that it may have been once. */
async function ownersOf(
  all: Reconciling,
  documents: readonly ListedDocument[],
): Promise<(OwnDocument | undefined)[]> {
  const { redis, keys, destination, scope } = all;
  const { routed, others } = scope;
  const byReference = async (of: readonly ListedDocument[]): Promise<string[][]> =>
    (
      await deliveriesOfReferences(
        redis,
        keys,
        destination,
        of.map(({ reference }) => reference),
      )
    ).map((delivery) => (delivery === undefined ? [] : [delivery]));
  const byEventId = (of: readonly ListedDocument[], sources: readonly SourceOfEvents[]): string[][] =>
    of.map(({ reference }) => idsOf(all, sources, reference));
  const mapped = all.input.target.config.reference !== undefined;
  const owners = await firstDeliveries(
    redis,
    keys,
    mapped ? await byReference(documents) : byEventId(documents, routed),
  );
  const left = documents.filter((_, index) => !owners[index]);
  if (left.length === 0) return owners;
  const indexed = await byReference(left);
  const named = byEventId(left, [...routed, ...others]);
  const late = await firstDeliveries(
    redis,
    keys,
    left.map((_, index) => [...(indexed[index] ?? []), ...(named[index] ?? [])]),
  );
  return documents.map((document, index) => owners[index] ?? late[left.indexOf(document)]);
}

/** The delivery's record may be lost, or have left: the event's own, its dedupe record and the index of references tell. */
async function wasAccepted(
  { redis, keys, scope, destination }: Reconciling,
  reference: string,
): Promise<boolean> {
  const [indexed] = await deliveriesOfReferences(redis, keys, destination, [reference]);
  if (indexed !== undefined) return true;
  const sources = [...scope.routed, ...scope.others];
  return wasAnyAccepted(
    redis,
    keys,
    sources.map(({ operator, source }) => eventKey(operator, source, reference)),
  );
}

/** The documents of this one's reference, where it is not the only one. */
async function otherThan(
  { ask, input }: Reconciling,
  { reference }: ListedDocument,
  owner: OwnDocument,
  name: string,
  first: string,
): Promise<readonly string[] | undefined> {
  if (first !== name) return [first, name];
  // Its own document is older than the list, so it cannot be in it.
  if (owner.createdAt >= input.since || owner.receipt === '' || owner.receipt === name) return undefined;
  const receipts = await ask.receiptsOf(owner.delivery, reference);
  if (receipts === undefined) return [owner.receipt, name];
  return receipts.length > 1 ? receipts : undefined;
}

async function secondDocument(
  all: Reconciling,
  document: ListedDocument,
  owner: OwnDocument,
  receipts: readonly string[],
): Promise<Finding> {
  const [record] = await readDeliveries(all.redis, all.keys, [owner.delivery]);
  const own = record?.receipt ?? '';
  const sorted = receipts.toSorted((a, b) => Number(b === own) - Number(a === own));
  const theirs = own === '' || !sorted.includes(own) ? '' : ` An attempt of ours made ${own}.`;
  return {
    kind: 'duplicate',
    why: 'two_documents',
    target: all.name,
    operator: owner.operator,
    ...(record && { source: record.event.source, eventId: record.event.id, status: record.status }),
    delivery: owner.delivery,
    reference: document.reference,
    receipts: sorted,
    at: document.at,
    by: 'erp',
    detail: `The ERP holds ${sorted.join(' and ')} for one reference.${theirs}`,
    next: `${showStep(owner)}; then cancel the one too many in the ERP`,
  };
}

const foreign = (all: Reconciling, document: ListedDocument): Finding => ({
  kind: 'foreign',
  why: 'never_accepted',
  target: all.name,
  reference: document.reference,
  receipts: [nameOf(document)],
  at: document.at,
  by: 'erp',
  detail: `The ERP holds ${nameOf(document)} under a reference that no accepted event has.`,
  next: 'Ask who posts to the ERP with references of ours; nothing here will touch the document',
});
