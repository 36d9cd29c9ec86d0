import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { choice, field } from '../forms.ts';
import type { Page, Sight, Visit } from '../page.ts';
import { code, foreign, nextPage, path, table, time } from '../parts.ts';
import { refusal } from '../refusal.ts';
import { type Change, changesOf, type Entry } from './audit-changes.ts';

/** In the address: entries of every operator. */
const EVERYBODY = 'all';

export const auditPages: readonly Page[] = [
  {
    method: 'get',
    path: '/audit',
    async show(visit): Promise<Sight> {
      const { of, ...asked } = visit.query;
      const everybody = of === EVERYBODY;
      // Without a name the call answers for every operator, where the token is of every operator; else for its own.
      const query = { ...asked, ...(everybody && { operator: undefined }) };
      try {
        const { entries, nextCursor } = await visit.call('listAudit', { query });
        return {
          title: 'Audit',
          main: html`${filters(visit)} ${entryTable(entries, visit.now, everybody)}
          ${nextPage('/audit', visit.query, nextCursor)}`,
        };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'request_invalid') throw error;
        return { title: 'Audit', main: html`${filters(visit)} ${refusal(error)}`, status: error.status };
      }
    },
  },
];

function filters({ query, caller, operator }: Visit): SafeHtml {
  return html`<form method="get" action="/audit" class="filters panel" role="search">
    ${field({ name: 'action', label: 'Action', type: 'search', value: query['action'], maxLength: 60, placeholder: 'endpoint.*', hint: 'Such as endpoint.update, delivery.replay or token.*; * at the end stands for any text.' })}
    ${
      caller.scope.operator === null
        ? choice(
            'of',
            'Whose',
            [
              ['', `operator ${operator}`],
              [EVERYBODY, 'every operator, and the deployment'],
            ],
            query['of'],
          )
        : ''
    }
    <div class="actions">
      <button class="primary">Show</button>
      <a class="button" href="/audit">Clear</a>
    </div>
  </form>`;
}

const entryTable = (entries: readonly Entry[], now: number, everybody: boolean): SafeHtml =>
  table(
    'Audit log, newest first',
    [
      { title: 'When', cell: ({ at }) => time(at, now) },
      { title: 'Who', cell: ({ actor }) => foreign(actor) },
      ...(everybody
        ? [{ title: 'Operator', cell: ({ operator }: Entry) => (operator === '' ? '–' : code(operator)) }]
        : []),
      { title: 'What', cell: what },
      {
        title: 'Why',
        cell: ({ reason }) => (reason === null ? html`<span class="none">–</span>` : foreign(reason)),
      },
      { title: 'Details', cell: (entry) => details(changesOf(entry)) },
    ],
    entries,
    'No entry fits.',
  );

const what = ({ action, facts }: Entry): SafeHtml =>
  html`<div class="wide">
    <strong>${action}</strong>
    ${Object.entries(facts).map(([name, value]) => html`<br /><small>${name} </small>${subject(name, value)}`)}
  </div>`;

/** What an entry is about, as a way to it where there is a page of it. */
function subject(name: string, id: string): SafeHtml {
  if (name === 'delivery') return html`<a href="${path('deliveries', id)}">${code(id)}</a>`;
  if (name === 'endpoint' || (name === 'destination' && id.startsWith('ep_')))
    return html`<a href="${path('endpoints', id)}">${code(id)}</a>`;
  return code(id);
}

/** So many are shown at once; more fold away. */
const OPEN = 4;

function details(changes: readonly Change[]): SafeHtml {
  const list = html`<ul class="changes wide">
    ${changes.map(
      ({ name, before, after }) =>
        html`<li>
          ${foreign(name)}:
          ${before === undefined ? '' : code(before)}${before !== undefined && after !== undefined ? ' → ' : ''}${after === undefined ? '' : code(after)}
        </li>`,
    )}
  </ul>`;
  if (changes.length === 0) return html`<span class="none">–</span>`;
  return changes.length <= OPEN
    ? list
    : html`<details>
        <summary>${changes.length} settings</summary>
        ${list}
      </details>`;
}
