import { printable } from '@breakwater/core/printable';
import { count } from '../output/count.ts';
import { renderTable } from '../output/table.ts';
import type { Figures } from './figures.ts';

const SHOWN_DEAD_LETTERS = 20;

/** The one table of a storm, with what was expected beside what came. */
export function renderFigures(figures: Figures): string {
  const accepted = figures.exact ? figures.accepted : undefined;
  const rows: [string, string, string][] = [
    ['orders', String(figures.orders), ''],
    ['deliveries acknowledged', String(figures.acknowledged), `expected ${figures.deliveries}`],
    [
      'accepted',
      String(figures.accepted),
      accepted === 0 ? 'nothing new: this run was here before' : 'events counted by the ledger',
    ],
    ['deduped', String(figures.deduped), 'acknowledged, nothing done'],
    ['ERP postings', String(figures.postings), 'documents at the ERP for these orders'],
    ['distinct references', String(figures.distinctReferences), ''],
    ['duplicates', String(figures.duplicates), 'must be 0'],
    ['sent to the ERP', String(figures.sent), ''],
    ['dead letters at the ERP', String(figures.deadLetters.length), ''],
    ...endpointRows(figures),
    ['sends repeated', String(figures.retries), 'no 2xx the first time'],
    [
      'acknowledged in ms',
      `${figures.ack.p50Ms} / ${figures.ack.p99Ms} / ${figures.ack.maxMs}`,
      'p50 / p99 / max, as the provider saw it',
    ],
    ['seconds', String(figures.seconds), ''],
  ];
  const dead = figures.deadLetters
    .slice(0, SHOWN_DEAD_LETTERS)
    .map(({ delivery, reason }) => `  dead letter  ${printable(delivery)}  ${printable(reason)}`);
  const more = figures.deadLetters.length - dead.length;
  const verdict = figures.exact
    ? exactly(figures)
    : `NOT EXACT: ${figures.problems.map(printable).join('; ')}.`;
  return [
    renderTable(
      [{ title: `STORM ${figures.run}` }, { title: figures.source.toUpperCase() }, { title: '' }],
      rows,
    ),
    ...dead,
    ...(more > 0 ? [`  and ${more} more: dead-letters list`] : []),
    '',
    verdict,
  ].join('\n');
}

/** Only where there are some: they would only puzzle whoever has none. */
function endpointRows({ endpoints }: Figures): [string, string, string][] {
  if (endpoints.sent + endpoints.deadLetters === 0) return [];
  return [
    [
      'sent to endpoints',
      String(endpoints.sent),
      `and ${count(endpoints.deadLetters, 'dead letter')}: endpoints that want these events too`,
    ],
  ];
}

function exactly(figures: Figures): string {
  const dead = figures.deadLetters.length;
  const rest = dead > 0 ? `, ${count(dead, 'dead letter')} ${dead === 1 ? 'names' : 'name'} the rest` : '';
  return `EXACT: ${figures.acknowledged} deliveries of ${figures.orders} orders, ${figures.postings} postings, ${figures.duplicates} duplicates${rest}.`;
}
