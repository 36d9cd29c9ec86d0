import type { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { csrfField, field } from '../forms.ts';
import type { Answer, Page, Sight, Visit } from '../page.ts';
import { code, eventPath, facts, foreign, link, nextPage, path, table, time, when } from '../parts.ts';
import { payload, payloadButton } from '../payload.ts';
import { refusal as refusalNote, tryForm } from '../refusal.ts';

type Entry = Answer<'listQuarantine'>['entries'][number];
type Detail = Answer<'getQuarantined'>;
type Outcome = Detail['now'];

export const quarantinePages: readonly Page[] = [
  { method: 'get', path: '/quarantine', show: (visit) => list(visit) },
  { method: 'get', path: '/quarantine/:id', show: (visit) => look(visit) },
  {
    method: 'post',
    path: '/quarantine/:id/retry',
    show: (visit) =>
      tryForm(
        () => retry(visit),
        (refusal) => look(visit, { refusal }),
      ),
  },
];

const idOf = ({ params }: Visit): string => params['id'] ?? '';

async function list(visit: Visit): Promise<Sight> {
  const { query } = visit;
  const { source } = query;
  const { entries, nextCursor } = await visit.call('listQuarantine', { query });
  return {
    title: 'Quarantine',
    main: html`<p>
        Requests that were refused although they carry a
        signature${source === undefined ? '' : html`, of source ${foreign(source)}`}. When the configuration
        is right, retry them: what was accepted meanwhile stays one event.
        <a href="/sources">Sources</a>
      </p>
      ${quarantineTable(entries, visit.now)} ${nextPage('/quarantine', query, nextCursor)}`,
  };
}

/** Refused requests as a list, newest first. */
export const quarantineTable = (entries: readonly Entry[], now: number): SafeHtml =>
  table(
    'Refused requests, newest first',
    [
      {
        title: 'Refused for',
        cell: ({ id, code: why }) => html`<a href="${path('quarantine', id)}">${code(why)}</a>`,
      },
      { title: 'In words', cell: ({ message }) => html`<span class="why">${foreign(message)}</span>` },
      {
        title: 'Source',
        cell: ({ source }) => html`<a href="${path('sources', source)}">${foreign(source)}</a>`,
      },
      { title: 'Received', cell: ({ receivedAt }) => time(receivedAt, now) },
      { title: 'Bytes', cell: ({ sizeBytes }) => sizeBytes, numeric: true },
    ],
    entries,
    'Nothing is in quarantine here.',
  );

async function retry(visit: Visit): Promise<Sight> {
  const { ok, result } = await visit.call('retryQuarantined', {
    params: { id: idOf(visit) },
    body: { reason: visit.form['reason'] ?? '' },
  });
  if (!ok) return look(visit, { still: result });
  const { source } = visit.form;
  const goTo = link('/quarantine', { source });
  if (result.kind !== 'accepted') return { goTo, notice: 'quarantine_let_go' };
  const anyNew = result.events.some(({ deduped }) => !deduped);
  return { goTo, notice: anyNew ? 'quarantine_accepted' : 'quarantine_known' };
}

interface Before {
  readonly refusal?: AppError;
  /** What a retry came to that changed nothing. */
  readonly still?: Outcome;
}

async function look(visit: Visit, { refusal, still }: Before = {}): Promise<Sight> {
  const withBody = visit.query['body'] === 'true';
  const entry = await visit.call('getQuarantined', {
    params: { id: idOf(visit) },
    query: { body: String(withBody) },
  });
  return {
    title: 'Refused request',
    main: html`${refusalNote(refusal)}
    ${when(
      still !== undefined,
      html`<p class="error" role="alert">
        It is still refused, and stays: ${still && outcome(entry, still)}
      </p>`,
    )}
    ${summary(entry, visit.now)} ${bodyOf(entry)}
    ${when(visit.caller.scope.role !== 'read', retryForm(visit, entry))}`,
    ...((refusal ?? still) && { status: refusal?.status ?? 409 }),
  };
}

const outcome = ({ source }: Detail, result: Outcome): SafeHtml => {
  switch (result.kind) {
    case 'accepted':
      return html`it is right:
      ${result.events.map(
        ({ eventId, deduped }) =>
          html`<a href="${eventPath(source, eventId)}">${foreign(eventId)}</a
            >${deduped ? ' (accepted before) ' : ' '}`,
      )}`;
    case 'handshake':
      return html`a challenge or a ping, and no event: it would be let go`;
    case 'refused':
      return html`${foreign(result.message)} (${code(result.code)})`;
  }
};

const summary = (entry: Detail, now: number): SafeHtml =>
  html`<section class="panel" aria-label="Facts">
    <p class="headline">${code(entry.code)} ${foreign(entry.message)}</p>
    ${facts([
      ['Source', html`<a href="${path('sources', entry.source)}">${foreign(entry.source)}</a>`],
      ['Received', time(entry.receivedAt, now)],
      ['Size', `${entry.sizeBytes} bytes`],
      ['Headers that are kept', foreign(entry.headers.join(', ') || 'none')],
      ['By the configuration of today', outcome(entry, entry.now)],
      ['Id', code(entry.id)],
    ])}
    ${when(
      entry.slips.length > 0,
      html`<h2>Mistakes that would explain it</h2>
        <ul>
          ${entry.slips.map(({ says }) => html`<li>${foreign(says)}</li>`)}
        </ul>`,
    )}
  </section>`;

const bodyOf = ({ id, body }: Detail): SafeHtml =>
  html`<section>
    <h2>Body</h2>
    <p>Secrets are masked; of the headers only the names are shown.</p>
    ${
      body
        ? html`${payload(body, 'Body of the refused request, as text')}
            <p><a class="button" href="${path('quarantine', id)}">Hide the payload</a></p>`
        : payloadButton(path('quarantine', id))
    }
  </section>`;

const retryForm = (visit: Visit, { id, source }: Detail): SafeHtml =>
  html`<section>
    <h2>Retry</h2>
    <form method="post" action="${path('quarantine', id, 'retry')}" class="panel">
      ${csrfField(visit)} <input type="hidden" name="source" value="${source}" />
      <p>
        It is judged by the configuration of today, as of the moment when it came. What is right is accepted
        and delivered; what is not stays here.
      </p>
      ${field({ name: 'reason', label: 'Reason', required: true, maxLength: 500, value: visit.form['reason'], hint: 'Goes into the audit log.' })}
      <button class="primary">Retry</button>
    </form>
  </section>`;
