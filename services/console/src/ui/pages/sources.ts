import { formatDuration } from '@breakwater/contracts/duration';
import { secretAdvice, silenceInWords } from '@breakwater/core/source-words';
import { html, type SafeHtml } from '@remix-run/html-template';
import type { Answer, Page, Sight, Visit } from '../page.ts';
import { code, facts, foreign, inWords, link, path, table, time, when } from '../parts.ts';
import { findEvent } from './events.ts';
import { quarantineTable } from './quarantine.ts';

type Source = Answer<'getSource'>;
type Secret = Source['secrets'][number];

export const sourcePages: readonly Page[] = [
  { method: 'get', path: '/sources', show: (visit) => list(visit) },
  { method: 'get', path: '/sources/:source', show: (visit) => look(visit) },
];

/** The first page of the quarantine of a source; the rest has a page of its own. */
const QUARANTINE_SHOWN = 10;
/** As the call has it where none is given. */
const UNUSED_FOR = '7d';
const HOUR_MS = 3_600_000;

async function list(visit: Visit): Promise<Sight> {
  const { sources } = await visit.call('listSources');
  return {
    title: 'Sources',
    main: html`<p>
        Where events come from, as the configuration says. What a source sent with a wrong signature or
        without an event id is kept in <a href="/quarantine">quarantine</a> for a while.
      </p>
      ${table(
        'Sources',
        [
          {
            title: 'Source',
            cell: ({ name }) => html`<a href="${path('sources', name)}">${foreign(name)}</a>`,
          },
          { title: 'Last seen', cell: ({ lastSeenAt }) => time(lastSeenAt, visit.now) },
          { title: 'Last new event', cell: ({ lastAcceptedAt }) => time(lastAcceptedAt, visit.now) },
          { title: 'Quiet for', cell: (source) => quiet(source, visit.now) },
          { title: 'Secrets used in the last 7 days', cell: (source) => inUse(source, visit.now) },
        ],
        sources,
        'No source is configured for this operator.',
      )}
      <h2>Find an event</h2>
      ${findEvent()}`,
  };
}

/** Hours since anything came, and whether that is unusual. */
function quiet({ lastSeenAt, silent }: Source, now: number): SafeHtml {
  if (lastSeenAt === null) return html`nothing came yet`;
  const hours = Math.max(0, now - lastSeenAt) / HOUR_MS;
  const said = hours < 1 ? 'less than an hour' : `${Math.floor(hours)} h`;
  return silent ? html`<span class="status" data-status="failed">${said}: silent</span>` : html`${said}`;
}

const inUse = ({ secrets }: Source, now: number): SafeHtml | string => {
  const used = secrets.filter(({ lastUsedAt }) => lastUsedAt !== null && now - lastUsedAt < 7 * 24 * HOUR_MS);
  return used.length === 0 ? 'none' : html`${used.map(({ id }) => html`${code(id)} `)}`;
};

async function look(visit: Visit): Promise<Sight> {
  const name = visit.params['source'] ?? '';
  const source = await visit.call('getSource', { params: { source: name } });
  const { entries, nextCursor } = await visit.call('listQuarantine', {
    query: { source: name, limit: QUARANTINE_SHOWN },
  });
  const { now } = visit;
  return {
    title: `Source ${source.name}`,
    main: html`<section class="panel" aria-label="Facts">
        ${when(source.silent, html`<p class="error">It has gone quiet. ${silenceInWords(source)}.</p>`)}
        ${facts([
          ['Last seen', time(source.lastSeenAt, now)],
          ['Last new event', time(source.lastAcceptedAt, now)],
          ['Quiet for', quiet(source, now)],
          ['Silent', silenceInWords(source)],
          source.patienceMs !== null && ['May be quiet for', formatDuration(source.patienceMs)],
          ['Observed since', time(source.observedSince, now)],
          ['Preset', source.preset === null ? 'none' : code(source.preset)],
          [
            'Its deliveries',
            html`<a href="${link('/deliveries', { source: source.name })}">Deliveries of this source</a>`,
          ],
        ])}
      </section>
      ${secretsOf(source, now)}
      <section>
        <h2>Quarantine</h2>
        ${quarantineTable(entries, now)}
        ${when(
          nextCursor !== null,
          html`<p>
            <a href="${link('/quarantine', { source: source.name })}">All that is in quarantine</a>
          </p>`,
        )}
      </section>
      <section>
        <h2>Find an event</h2>
        ${findEvent(source.name)}
      </section>`,
  };
}

const secretsOf = ({ secrets }: Source, now: number): SafeHtml =>
  html`<section>
    <h2>Secrets</h2>
    <p>For a rotation: which secret still signs what comes, and which may leave the configuration.</p>
    ${table(
      'Secrets of this source',
      [
        { title: 'Secret', cell: ({ id }) => code(id) },
        { title: 'Last used', cell: (secret) => usedAt(secret, now) },
        { title: 'Known since', cell: ({ knownSince }) => time(knownSince, now) },
        {
          title: 'Can it go?',
          cell: (secret) =>
            html`<span class="why">${secretAdvice(secret, now, UNUSED_FOR, (at) => moment(at, now))}</span>`,
        },
      ],
      secrets,
      'It has no secrets.',
    )}
  </section>`;

const usedAt = ({ lastUsedAt }: Secret, now: number): SafeHtml =>
  lastUsedAt === null ? html`never` : time(lastUsedAt, now);

const moment = (at: number | null, now: number): string =>
  at === null
    ? 'ever'
    : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC (${inWords(at - now)})`;
