import { FINDING_KINDS, type Finding, type FindingKind } from '@breakwater/contracts/reconciliation';
import { printable } from '@breakwater/core/printable';
import { count } from '../output/count.ts';
import { renderFields } from '../output/table.ts';
import { formatTime } from '../output/time.ts';
import type { Reconciled } from './reconcile.ts';

const TITLES: Readonly<Record<FindingKind, string>> = {
  missing: 'missing',
  dead_lettered: 'dead-lettered',
  duplicate: 'duplicate',
  unknown: 'unknown',
  foreign: 'foreign',
};

/** What a reconciliation of one target came to: each finding with its ids and the next step. */
export function renderReconciliation(result: Reconciled, now: number): string {
  const { target, since, until, events, deliveries, open, counts, findings, others, cursor } = result;
  const range = `${new Date(since).toISOString()} to ${new Date(until).toISOString()}`;
  const told = FINDING_KINDS.filter((kind) => counts[kind] > 0).map(
    (kind) => `${counts[kind]} ${TITLES[kind]}`,
  );
  return [
    `ERP target ${target}, ${range}`,
    `${count(events, 'event')} looked at, ${count(deliveries, 'posting')} owed, ${open} of them on their way. ${deepWords(result)}`,
    told.length > 0 ? `Found: ${told.join(', ')}.` : 'Nothing was found.',
    ...findings.map((finding) => `\n${renderFinding(finding, now)}`),
    ...Object.entries(others).map(
      ([operator, number]) =>
        `\n${count(number, 'finding')} more about events of another operator: --operator ${printable(operator)}`,
    ),
    ...(cursor === null ? [] : [`\nThis is not the end. Go on with: --cursor ${cursor}`]),
  ].join('\n');
}

function deepWords({ deep }: Reconciled): string {
  switch (deep.kind) {
    case 'off':
      return "The ERP's own documents were not compared (--deep).";
    case 'done':
      return `Compared with the ERP: ${count(deep.documents, 'document')} listed, ${count(deep.asked, 'look-up')} made.`;
    case 'skipped':
      return `The ERP's own documents could NOT be compared: ${printable(deep.reason)}`;
  }
}

function renderFinding(finding: Finding, now: number): string {
  const { kind, why, source, eventId, delivery, status, reference, receipts, at, detail, next } = finding;
  const fields: [string, string][] = [
    [TITLES[kind], `${why}: ${detail}`],
    ...(eventId === undefined ? [] : ([['event', `${source ?? ''}/${eventId}`]] as [string, string][])),
    ...(delivery === undefined
      ? []
      : ([['delivery', `${delivery}${status === undefined ? '' : ` (${status})`}`]] as [string, string][])),
    ['reference', reference ?? '-'],
    ...(receipts.length === 0 ? [] : ([['documents', receipts.join(', ')]] as [string, string][])),
    [kind === 'foreign' ? 'made' : 'recorded', formatTime(at, now)],
    ['next', next],
  ];
  return renderFields(fields);
}
