import { DELIVERY_STATUSES } from '@breakwater/contracts/delivery';
import { FAILURE_CLASSES } from '@breakwater/contracts/failure-class';
import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { choice, field } from '../forms.ts';
import type { Answer, Page, Visit } from '../page.ts';
import { code, foreign, nextPage, path, status, STATUS_WORDS, table, time, when } from '../parts.ts';

type Row = Answer<'listDeliveries'>['deliveries'][number];

const FILTERS = [
  'status',
  'event',
  'source',
  'type',
  'endpoint',
  'target',
  'class',
  'since',
  'until',
] as const;

export const deliveriesPages: readonly Page[] = [
  {
    method: 'get',
    path: '/deliveries',
    async show(visit) {
      const { query } = visit;
      try {
        const { deliveries, nextCursor } = await visit.call('listDeliveries', { query });
        return {
          title: 'Deliveries',
          main: html`${filters(visit)} ${deliveryTable(deliveries, visit.now, query['status'] !== undefined)}
          ${nextPage('/deliveries', query, nextCursor)}`,
        };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'request_invalid') throw error;
        return {
          title: 'Deliveries',
          main: html`${filters(visit)}
            <p class="error" role="alert">${error.message}</p>`,
          status: error.status,
        };
      }
    },
  },
];

/** One form asks for both at once, so its labels cannot say which of the two it will be. */
const WHEN_HINT = 'When it took the status; with any status, when it was accepted.';

function filters({ query, config }: Visit): SafeHtml {
  const any = ['', 'any'] as const;
  const named = (names: readonly string[]) => [any, ...names.map((name) => [name, name] as const)];
  const classes = [...Object.keys(FAILURE_CLASSES), 'interrupted'];
  const open = FILTERS.some((name) => name !== 'status' && name !== 'event' && query[name] !== undefined);
  return html`<form method="get" action="/deliveries" class="filters panel" role="search">
    ${choice('status', 'Status', [any, ...DELIVERY_STATUSES.map((each) => [each, STATUS_WORDS[each]] as const)], query['status'])}
    ${field({ name: 'event', label: 'Event id', type: 'search', value: query['event'] })}
    <details ${when(open, html`open`)}>
      <summary>More filters</summary>
      <div class="filters">
        ${field({ name: 'source', label: 'Source', value: query['source'] })}
        ${field({ name: 'type', label: 'Type', value: query['type'], hint: '* stands for any text' })}
        ${field({ name: 'endpoint', label: 'Endpoint id', value: query['endpoint'] })}
        ${choice('target', 'ERP target', named(Object.keys(config.erpTargets)), query['target'])}
        ${choice('class', 'Failure class', named(classes), query['class'])}
        ${field({ name: 'since', label: 'Since', value: query['since'], placeholder: '2026-01-31T12:00:00Z', hint: WHEN_HINT })}
        ${field({ name: 'until', label: 'Until', value: query['until'], placeholder: '2026-01-31T13:00:00Z', hint: WHEN_HINT })}
      </div>
    </details>
    <div class="actions">
      <button class="primary">Show</button>
      <a class="button" href="/deliveries">Clear</a>
    </div>
  </form>`;
}

/** Deliveries as a list, newest first. `byStatus`: chosen by their status, so its time is what they are filtered by. */
export const deliveryTable = (rows: readonly Row[], now: number, byStatus = false): SafeHtml =>
  table(
    'Deliveries',
    [
      { title: 'Status', cell: (row) => html`${status(row.status)} ${cause(row)}` },
      {
        title: 'Event',
        cell: (row) => html`<a href="${path('deliveries', row.id)}">${foreign(row.event.id)}</a>`,
      },
      { title: 'Type', cell: (row) => foreign(row.event.type) },
      { title: 'Destination', cell: destination },
      { title: 'Attempts', cell: (row) => row.attempts.length, numeric: true },
      { title: 'Next attempt', cell: (row) => nextAttempt(row, now) },
      ...(byStatus ? [{ title: 'Status since', cell: (row: Row) => time(row.statusAt, now) }] : []),
      { title: 'Accepted', cell: (row) => time(row.createdAt, now) },
    ],
    rows,
    html`No delivery fits. A page may also be empty because the next one has more: filters are applied to a
    bounded number of entries at a time.`,
  );

export const cause = ({
  status: of,
  reason,
  failureClass,
}: Pick<Row, 'status' | 'reason' | 'failureClass'>): SafeHtml =>
  of === 'sent' || of === 'resolved'
    ? html``
    : html`<small>${[reason, failureClass].filter((each) => each !== null).join(', ')}</small>`;

export const destination = ({ destination: { kind, id, name } }: Pick<Row, 'destination'>): SafeHtml =>
  kind === 'erp' ? html`ERP ${code(name)}` : html`<a href="${path('endpoints', id)}">${code(id)}</a>`;

export const nextAttempt = (
  { inFlight, nextAttemptAt }: Pick<Row, 'inFlight' | 'nextAttemptAt'>,
  now: number,
) => (inFlight ? html`<strong>in flight</strong>` : time(nextAttemptAt, now));
