import { DELIVERY_STATUSES, type DeliveryStatus } from '@breakwater/contracts/delivery';
import { HISTORY_RANGE_NAMES, HISTORY_RANGES, type HistoryRange } from '@breakwater/contracts/history';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { html, type SafeHtml } from '@remix-run/html-template';
import { groupTable } from './dead-letters.ts';
import { compare, curve, owedOf } from '../curve.ts';
import { unknownOperator } from '../operators.ts';
import type { Answer, Page, Visit } from '../page.ts';
import { foreign, link, live, status, STATUS_WORDS, table, when } from '../parts.ts';
import { ackTile, fleetTiles, NOT_KNOWN, type Tile, tiles } from '../tiles.ts';

type Stats = Answer<'getStats'>;
type Fleet = NonNullable<Stats['fleet']>;

/** Of dead letters: what a person looks at first. */
const CAUSES_SHOWN = 10;

export const overviewPages: readonly Page[] = [
  {
    method: 'get',
    path: '/',
    async show(visit) {
      const range = HISTORY_RANGE_NAMES.find((name) => name === visit.query['range']) ?? '1h';
      const stats = await visit.call('getStats', { query: { history: range } });
      const causes = await visit.call('listDeadLetterGroups', { query: { limit: CAUSES_SHOWN } });
      const { fleet } = stats;
      return {
        title: 'Overview',
        main: html`${await unknownOperator(visit, stats)} ${fleet ? curves(fleet, range, visit.now) : ''}
        ${live('overview', 5, link('/', { range }), html`${fleet ? fleetFigures(fleet, visit.operator) : ''} ${ownFigures(stats, causes, visit)}`)}`,
      };
    },
  },
];

/** A curve reads itself again when it has a new point, and not before: it would only flicker. */
function curves({ targets, history }: Fleet, range: HistoryRange, now: number): SafeHtml {
  const shown = targets.flatMap((figures) => {
    const own = history?.targets.find(({ target }) => target === figures.target);
    return history && own ? [curve(figures, own, HISTORY_RANGES[range], now)] : [];
  });
  return html`<section>
    <h2>Accepted against postings</h2>
    <p>One accepted event, one posting: two lines that should be one. Of all operators.</p>
    <nav aria-label="Range of the curves" class="actions">
      ${HISTORY_RANGE_NAMES.map(
        (name) =>
          html`<a
            class="button"
            href="${link('/', { range: name })}"
            ${when(name === range, html`aria-current="true"`)}
            >${name}</a
          >`,
      )}
    </nav>
    ${live(
      'curves',
      HISTORY_RANGES[range].stepMs / 1_000,
      link('/', { range }),
      shown.length > 0 ? html`${shown}` : html`<p class="empty">No ERP target is configured.</p>`,
    )}
  </section>`;
}

const BREAKER_WORDS = {
  closed: ['sent', 'closed'],
  half_open: ['held', 'half-open: one probe is under way'],
  open: ['failed', 'open: nothing is posted'],
} as const;

function fleetFigures(fleet: Fleet, operator: string): SafeHtml {
  return html`<section>
    <h2>The fleet</h2>
    ${when(
      fleet.takenAt === null,
      html`<p class="error" role="status">
        The console has not read the fleet's figures of late: what it does not know is shown as ${NOT_KNOWN}.
      </p>`,
    )}
    ${tiles('Figures of the fleet', fleetTiles(fleet, operator))}
    ${table(
      'ERP targets',
      [
        {
          title: 'ERP target',
          cell: ({ target }) => html`<a href="${link('/reconciliation', { target })}">${target}</a>`,
        },
        { title: 'Owner', cell: ({ owner }) => owner },
        { title: 'Accepted', cell: owedOf, numeric: true },
        { title: 'Posted', cell: ({ postings }) => postings, numeric: true },
        { title: 'At the ERP', cell: ({ documents }) => documents ?? NOT_KNOWN, numeric: true },
        { title: 'Side-effect ratio', cell: ratio, numeric: true },
        { title: 'Agreement', cell: (figures) => agreement(figures, fleet.deliveries[figures.target] ?? {}) },
        {
          title: 'Breaker',
          cell: ({ breaker }) => {
            if (breaker === null) return NOT_KNOWN;
            const [shade, words] = BREAKER_WORDS[breaker];
            return html`<span class="status" data-status="${shade}">${words}</span>`;
          },
        },
      ],
      fleet.targets,
      'No ERP target is configured.',
    )}
  </section>`;
}

/** A ratio that only looks like 1 must not be shown as 1. */
function ratio({ ratio: value }: Fleet['targets'][number]): string {
  if (value === null) return NOT_KNOWN;
  const digits = value.toFixed(4);
  return Number(digits) === 1 && value !== 1 ? (value > 1 ? '> 1' : '< 1') : String(Number(digits));
}

function agreement(
  figures: Fleet['targets'][number],
  deliveries: Readonly<Record<string, number>>,
): SafeHtml {
  const owed = owedOf(figures);
  const of = (name: string): number => deliveries[name] ?? 0;
  const open = of('pending') + of('failed') + of('held');
  const dead = of('dead_letter');
  const equal = owed === figures.postings;
  return html`<span
      class="status"
      data-status="${equal ? 'sent' : figures.postings > owed ? 'failed' : 'held'}"
      >${compare(owed, figures.postings)}</span
    >
    <small>${when(open + dead > 0, `${open} open, ${dead} dead letters`)}</small>`;
}

/** A status has its colour where anything has the status: nothing dead is no reason for red. */
const statusTile = (of: DeliveryStatus, count: number): Tile => ({
  label: count > 0 ? status(of) : STATUS_WORDS[of],
  value: html`<a href="${link('/deliveries', { status: of })}">${count}</a>`,
  about: count === 1 ? 'delivery' : 'deliveries',
});

/** What belongs to the operator alone. */
function ownFigures(
  stats: Stats,
  { groups, nextCursor }: Answer<'listDeadLetterGroups'>,
  visit: Visit,
): SafeHtml {
  return html`<section>
    <h2>Operator ${stats.operator}</h2>
    ${tiles('Figures of the operator', [
      ...DELIVERY_STATUSES.map((each) => statusTile(each, stats.deliveries[each] ?? 0)),
      ackTile(stats.acknowledgements, 'to its sources'),
    ])}
    <h3>Dead letters by cause</h3>
    ${groupTable(groups, visit)}
    ${when(nextCursor !== null, html`<p><a href="/dead-letters">All causes</a></p>`)}
    <h3>Sources</h3>
    ${table(
      'Sources',
      [
        {
          title: 'Source',
          cell: ({ source }) =>
            html`${foreign(source)}${when(source === RESERVED_SOURCE, html` <small>published by applications</small>`)}`,
        },
        { title: 'Accepted', cell: ({ accepted }) => accepted, numeric: true },
        { title: 'That nobody wanted', cell: ({ unrouted }) => unrouted, numeric: true },
      ],
      stats.sources,
      'No source.',
    )}
  </section>`;
}
