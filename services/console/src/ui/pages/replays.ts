import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { refusalInWords, refusedOf } from '@breakwater/core/replay-words';
import type { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { csrfField, field } from '../forms.ts';
import type { Answer, Notice, Page, Sight, Visit } from '../page.ts';
import { code, facts, foreign, live, nextPage, path, table, time, when } from '../parts.ts';
import { refusal as refusalNote, tryForm } from '../refusal.ts';

type Run = Answer<'listReplays'>['replays'][number];
type Detail = Answer<'getReplay'>;

export const replayPages: readonly Page[] = [
  { method: 'get', path: '/replays', show: (visit) => list(visit) },
  { method: 'get', path: '/replays/:id', show: (visit) => look(visit) },
  change('cancelReplay', 'cancel', 'run_cancelled'),
  change('resumeReplay', 'resume', 'run_resumed'),
];

const idOf = ({ params }: Visit): string => params['id'] ?? '';

function change(call: 'cancelReplay' | 'resumeReplay', action: string, notice: Notice): Page {
  const act = async (visit: Visit): Promise<Sight> => {
    const id = idOf(visit);
    await visit.call(call, { params: { id }, body: { reason: visit.form['reason'] ?? '' } });
    return { goTo: path('replays', id), notice };
  };
  return {
    method: 'post',
    path: `/replays/:id/${action}`,
    show: (visit) =>
      tryForm(
        () => act(visit),
        (refusal) => look(visit, refusal),
      ),
  };
}

async function list(visit: Visit): Promise<Sight> {
  const { query } = visit;
  const { replays, nextCursor } = await visit.call('listReplays', { query });
  return {
    title: 'Replays',
    main: html`<p>
        Replays of many deliveries. They are started from <a href="/dead-letters">dead letters</a> or the
        command line; dispatchers carry them out. A run leaves this list 30 days after its end.
      </p>
      ${runTable(replays, visit.now)} ${nextPage('/replays', query, nextCursor)}`,
  };
}

const runTable = (runs: readonly Run[], now: number): SafeHtml =>
  table(
    'Replay runs, newest first',
    [
      { title: 'State', cell: stateOf },
      {
        title: 'What was chosen',
        cell: (run) => html`<a href="${path('replays', run.id)}">${foreign(run.filter || run.id)}</a>`,
      },
      { title: 'Progress', cell: (run) => html`${bar(run)} ${settled(run)} of ${run.matched}` },
      { title: 'Failed', cell: ({ failed }) => failed, numeric: true },
      { title: 'Why', cell: ({ reason }) => html`<span class="why">${foreign(reason)}</span>` },
      { title: 'Who', cell: ({ actor }) => html`<span class="why">${foreign(actor)}</span>` },
      { title: 'Started', cell: ({ createdAt }) => time(createdAt, now) },
    ],
    runs,
    'There is no replay run, or all have left this list.',
  );

const STATES: Readonly<Record<Run['state'], string>> = {
  running: 'running',
  done: 'done',
  cancelled: 'cancelled',
  failed: 'stopped itself',
};
const stateOf = ({ state }: Run): SafeHtml =>
  html`<span class="status" data-status="${state}">${STATES[state]}</span>`;

/** Those that have a result: nothing more comes of them in this run. */
const settled = (run: Run): number => run.sent + run.failed + refusedOf(run);

const bar = (run: Run): SafeHtml =>
  html`<progress
    max="${Math.max(1, run.matched)}"
    value="${Math.min(settled(run), run.matched)}"
    aria-label="Deliveries with a result"
  >
    ${settled(run)} of ${run.matched}
  </progress>`;

async function look(visit: Visit, refusal?: AppError): Promise<Sight> {
  const run = await visit.call('getReplay', { params: { id: idOf(visit) } });
  const parts = html`${progress(run)} ${summary(run, visit.now)} ${notes(run)}`;
  // A run that is over and waits for nothing stays as it is: there is no reason to read it again.
  const seconds = run.state === 'running' || run.open > 0 ? 2 : 'no more';
  const at = path('replays', run.id);
  return {
    title: 'Replay run',
    main: html`${refusalNote(refusal)} ${live('run', seconds, at, parts)}
    ${when(visit.caller.scope.role !== 'read', live('run-change', seconds, at, changeForm(visit, run)))}`,
    ...(refusal && { status: refusal.status }),
  };
}

function progress(run: Detail): SafeHtml {
  const { matched, sent, failed, open, remaining, error } = run;
  return html`<section class="panel" aria-label="Progress">
    <p class="headline">${stateOf(run)}</p>
    ${when(error !== '', html`<p class="error">It stopped itself: ${foreign(error)}</p>`)} ${bar(run)}
    <p>
      ${settled(run)} of ${matched} have a result: ${sent} sent, ${failed} failed, ${refusedOf(run)} refused.
      ${open} are asked for without a result yet, ${remaining} are left.
    </p>
  </section>`;
}

const summary = (run: Detail, now: number): SafeHtml =>
  html`<section class="panel" aria-label="What was asked for">
    ${facts([
      ['Chosen', foreign(run.filter)],
      ['Why', foreign(run.reason)],
      ['Who', foreign(run.actor)],
      [
        'What it does',
        run.mode === 'restart' ? 'begins the schedule of attempts again' : 'one more attempt of each',
      ],
      [
        'Rate',
        `${run.perSecond} a second${run.destinationPerSecond === null ? '' : `, ${run.destinationPerSecond} a second to one destination`}`,
      ],
      ['Started', time(run.createdAt, now)],
      ['Latest change', time(run.updatedAt, now)],
      ['Run id', code(run.id)],
    ])}
  </section>`;

/** Why some were refused or failed: all of them counted, the first of them by name. */
function notes(run: Detail): SafeHtml {
  const refused = Object.entries(run.refused);
  return html`${when(
    refused.length > 0,
    html`<section>
      <h2>Refused</h2>
      ${table(
        'Refused deliveries by reason',
        [
          { title: 'How many', cell: ([, count]) => count, numeric: true },
          { title: 'Why', cell: ([why]) => refusalInWords(why) },
        ],
        refused,
        '',
      )}
    </section>`,
  )}
  ${when(
    run.notes.length > 0,
    html`<section>
      <h2>The first that were refused or failed</h2>
      ${table(
        'The first that were refused or failed',
        [
          { title: 'What', cell: ({ kind }) => kind },
          {
            title: 'Why',
            cell: ({ kind, why }) => (kind === 'refused' ? refusalInWords(why) : code(why.trim())),
          },
          {
            title: 'Delivery',
            cell: ({ delivery }) => html`<a href="${path('deliveries', delivery)}">${code(delivery)}</a>`,
          },
        ],
        run.notes,
        '',
      )}
    </section>`,
  )}`;
}

function changeForm(visit: Visit, { id, state }: Detail): SafeHtml {
  if (state === 'done') return html``;
  const running = state === 'running';
  return html`<section>
    <h2>${running ? 'Cancel' : 'Go on'}</h2>
    <form method="post" action="${path('replays', id, running ? 'cancel' : 'resume')}" class="panel">
      ${csrfField(visit)}
      <p>
        ${
          running
            ? 'It stops between two replays and may be resumed. What was asked for already is attempted all the same.'
            : `It goes on where it stopped. ${REPLAY_NOTICE}`
        }
      </p>
      ${field({ name: 'reason', label: 'Reason', required: true, maxLength: 500, value: visit.form['reason'], hint: 'Goes into the audit log.' })}
      ${running ? html`<button class="danger">Cancel the run</button>` : html`<button class="primary">Resume the run</button>`}
    </form>
  </section>`;
}
