import { formatDuration } from '@breakwater/contracts/duration';
import { newId } from '@breakwater/contracts/ids';
import type { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { csrfField, field, tick } from '../forms.ts';
import type { Answer, Page, Sight, Visit } from '../page.ts';
import { block, code, eventPath, facts, foreign, live, path, status, table, time, when } from '../parts.ts';
import { refusal as refusalNote, tryForm } from '../refusal.ts';
import { cause, destination, nextAttempt } from './deliveries.ts';

type Detail = Answer<'getDelivery'>;

export const deliveryPages: readonly Page[] = [
  { method: 'get', path: '/deliveries/:id', show: (visit) => look(visit) },
  {
    method: 'post',
    path: '/deliveries/:id/replay',
    show: (visit) =>
      change(visit, async (id) => {
        const { reason = '', mode, acknowledged, key } = visit.form;
        await visit.call('replayDelivery', {
          params: { id },
          body: {
            reason,
            mode: mode === 'restart' ? mode : 'single',
            acknowledgeDuplicates: acknowledged === 'true',
          },
          idempotencyKey: key,
        });
        return { goTo: path('deliveries', id), notice: 'replay_asked' };
      }),
  },
  {
    method: 'post',
    path: '/deliveries/:id/resolve',
    show: (visit) =>
      change(visit, async (id) => {
        const { reason = '', posted } = visit.form;
        await visit.call('resolveDelivery', { params: { id }, body: { reason, posted: posted === 'true' } });
        return { goTo: path('deliveries', id), notice: 'resolved' };
      }),
  },
];

const idOf = ({ params }: Visit): string => params['id'] ?? '';

const change = (visit: Visit, act: (id: string) => Promise<Sight>): Promise<Sight> =>
  tryForm(
    () => act(idOf(visit)),
    (refusal) => look(visit, refusal),
  );

async function look(visit: Visit, refusal?: AppError): Promise<Sight> {
  const delivery = await visit.call('getDelivery', { params: { id: idOf(visit) } });
  const mayChange = visit.caller.scope.role !== 'read';
  const at = path('deliveries', delivery.id);
  const main = html`
    ${refusalNote(refusal)}
    ${live('delivery', 3, at, html`${summary(delivery, visit.now)} ${timeline(delivery, visit.now)} ${answerSample(delivery)}`)}
    ${when(mayChange, live('delivery-change', 3, at, html`${replayForm(visit, delivery)} ${resolveForm(visit, delivery)}`))}
  `;
  return { title: 'Delivery', main, ...(refusal && { status: refusal.status }) };
}

function summary(delivery: Detail, now: number): SafeHtml {
  const { event } = delivery;
  const last = delivery.attempts.at(-1);
  const open = delivery.status !== 'sent' && delivery.status !== 'resolved';
  return html`<section class="panel" aria-label="State">
    <p class="headline">${status(delivery.status)} ${cause(delivery)}</p>
    ${when(open && last !== undefined && last.remedy !== '', html`<p class="remedy">${last?.remedy ?? ''}</p>`)}
    ${facts([
      ['Event', html`<a href="${eventPath(event.source, event.id)}">${foreign(event.id)}</a>`],
      ['Type', foreign(event.type)],
      ['Source', code(event.source)],
      ['Destination', destination(delivery)],
      ['Reference', code(delivery.reference)],
      ['Next attempt', nextAttempt(delivery, now)],
      ['Scheduled attempts used', delivery.scheduleMade],
      ['Replays made', delivery.replaysMade],
      delivery.receipt !== null && ['ERP document', foreign(delivery.receipt)],
      delivery.doubt && [
        'In doubt',
        'an earlier attempt may have been applied: the ERP is asked before anything is posted',
      ],
      delivery.openReplay !== null && ['Replay', 'asked for, not ended yet'],
      ['Status since', time(delivery.statusAt, now)],
      ['Accepted', time(delivery.createdAt, now)],
      ['Delivery id', code(delivery.id)],
    ])}
  </section>`;
}

function timeline({ attempts }: Detail, now: number): SafeHtml {
  return html`<section>
    <h2>Attempts</h2>
    ${table(
      'Attempts, newest first',
      [
        { title: '#', cell: ({ number }) => number, numeric: true },
        {
          title: 'Outcome',
          cell: ({ outcome, class: of, code: sort }) =>
            html`<span class="status" data-status="${outcome}">${outcome}</span>
              <small>${[of === outcome ? '' : of, sort].filter((each) => each !== '').join(' ')}</small>`,
        },
        { title: 'Started', cell: ({ startedAt }) => time(startedAt, now) },
        { title: 'Took', cell: ({ durationMs }) => formatDuration(durationMs), numeric: true },
        { title: 'Because of', cell: ({ trigger }) => (trigger === 'replay' ? 'a replay' : 'the schedule') },
        {
          title: 'What to do',
          cell: ({ remedy, lateResult }) =>
            html`${remedy}${lateResult ? html` Its result came late: ${lateResult.class} ${lateResult.code}.` : ''}`,
        },
      ],
      attempts.toReversed(),
      'No attempt has ended yet.',
    )}
  </section>`;
}

/** What the receiver answered last, as far as it is kept. */
export function answerSample({ sample: last }: Detail): SafeHtml {
  return html`<section>
    <h2>Last answer of the receiver</h2>
    ${
      last === null
        ? html`<p class="empty">
            No answer is kept: none came, it is older than 7 days, or it was expunged.
          </p>`
        : html`<p>
              <small
                >Attempt ${last.attempt} ·
                ${foreign(last.contentType || 'no content type')}${when(last.truncated, ' · only its beginning is kept')}</small
              >
            </p>
            ${block(last.text, 'Last answer of the receiver, as text')}`
    }
  </section>`;
}

function replayForm(visit: Visit, { id, status: of, replayNotice }: Detail): SafeHtml {
  return html`<section>
    <h2>Replay</h2>
    <form method="post" action="${path('deliveries', id, 'replay')}" class="panel">
      ${csrfField(visit)} <input type="hidden" name="key" value="${newId()}" />
      <p>${replayNotice}</p>
      ${field({ name: 'reason', label: 'Reason', required: true, maxLength: 500, value: visit.form['reason'], hint: 'Goes into the audit log.' })}
      ${modeChoice('single')}
      ${when(
        of === 'sent',
        tick(
          'acknowledged',
          'The receiver has acknowledged this before: I confirm that it dedupes durably.',
          { required: true },
        ),
      )}
      <button class="primary">Replay</button>
    </form>
  </section>`;
}

/** One attempt, or all of the schedule. */
export const modeChoice = (mode: 'single' | 'restart'): SafeHtml =>
  html`<fieldset>
    <legend>What to do</legend>
    <div class="tick">
      <input
        type="radio"
        id="mode-single"
        name="mode"
        value="single"
        ${when(mode === 'single', html`checked`)}
      />
      <label for="mode-single">One more attempt now</label>
    </div>
    <div class="tick">
      <input
        type="radio"
        id="mode-restart"
        name="mode"
        value="restart"
        ${when(mode === 'restart', html`checked`)}
      />
      <label for="mode-restart">Begin the schedule of attempts again</label>
    </div>
  </fieldset>`;

function resolveForm(visit: Visit, { id, status: of, destination: to }: Detail): SafeHtml {
  if (of !== 'dead_letter') return html``;
  return html`<section>
    <h2>Close as settled</h2>
    <form method="post" action="${path('deliveries', id, 'resolve')}" class="panel">
      ${csrfField(visit)}
      <p>For a dead letter that a person settled otherwise. Nothing is sent.</p>
      <div class="field">
        <label for="resolve-reason">Reason</label>
        <input id="resolve-reason" name="reason" required maxlength="500" autocomplete="off" />
      </div>
      ${when(
        to.kind === 'erp',
        tick('posted', 'The document is in the ERP under our reference: count it as posted.', {
          on: visit.form['posted'] === 'true',
        }),
      )}
      <button>Close</button>
    </form>
  </section>`;
}
