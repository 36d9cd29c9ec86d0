import { formatDuration, parseDurationMs } from '@breakwater/contracts/duration';
import { BODIES } from '@breakwater/contracts/admin-requests';
import { newId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { checkAccess } from '../../caller.ts';
import type { Notice, Page, Sight, Visit } from '../page.ts';
import { csrfField, field, reasonField, tick } from '../forms.ts';
import { block, code, facts, foreign, link, path, time, when } from '../parts.ts';
import { judgeForm, refusal, tryForm } from '../refusal.ts';
import { LABELS_OF_REQUEST } from './endpoint-form.ts';
import { type Endpoint, endpointOf, idOf, overlapEnd, secretOnce, whichEndpoint } from './endpoint-parts.ts';

/** A page that asks before something is done to an endpoint. */
interface Question {
  readonly name: string;
  readonly title: string;
  readonly button: string;
  readonly danger?: true;
  readonly fields: (endpoint: Endpoint, visit: Visit) => SafeHtml;
  readonly act: (visit: Visit) => Promise<Sight>;
}

const done = (visit: Visit, notice: Notice): Sight => ({ goTo: path('endpoints', idOf(visit)), notice });
const params = (visit: Visit): { readonly id: string } => ({ id: idOf(visit) });

const QUESTIONS: readonly Question[] = [
  {
    name: 'pause',
    title: 'Pause an endpoint',
    button: 'Pause',
    fields: (_endpoint, visit) =>
      html`<p>
          Nothing more is sent to it; an attempt in flight ends by itself. Its deliveries are held, not
          dropped, until somebody resumes it. One that is held for
          ${formatDuration(visit.config.deliveries.autoPause.heldFor)} becomes a dead letter.
        </p>
        ${reasonField(visit)}`,
    async act(visit) {
      const reason = visit.form['reason'] ?? '';
      const { changed } = await visit.call('pauseEndpoint', { params: params(visit), body: { reason } });
      return done(visit, changed ? 'endpoint_paused' : 'nothing_changed');
    },
  },
  {
    name: 'resume',
    title: 'Resume an endpoint',
    button: 'Resume',
    fields: (_endpoint, visit) =>
      html`<p>What was held is released, beginning with one delivery at a time.</p>
        ${reasonField(visit)}`,
    async act(visit) {
      const reason = visit.form['reason'] ?? '';
      const { changed } = await visit.call('resumeEndpoint', { params: params(visit), body: { reason } });
      return done(visit, changed ? 'endpoint_resumed' : 'nothing_changed');
    },
  },
  {
    name: 'rotate-secret',
    title: 'Rotate the signing secret',
    button: 'Make a new secret',
    fields: (endpoint, visit) =>
      html`${when(
          overlapEnd(endpoint, visit.now) !== undefined,
          html`<p class="remedy">
            A rotation is under way: both secrets sign until
            ${time(overlapEnd(endpoint, visit.now), visit.now)}. Finish it first, or replace both at once with
            an overlap of 0s.
          </p>`,
        )}
        <p>
          The new secret is shown once, on the next page. During the overlap every request carries two
          signatures, so a receiver with either secret accepts it. Give the receiver the new one within that
          time.
        </p>
        <p>
          A secret that has leaked is replaced at once with an overlap of 0s: a receiver that does not have
          the new one refuses until it has, and its deliveries are retried.
        </p>
        <input type="hidden" name="key" value="${newId()}" />
        ${field({ name: 'overlap', label: 'Overlap', value: visit.form['overlap'] ?? '24h', required: true, hint: '0s to 30d, such as 24h.' })}
        ${reasonField(visit, { optional: true })}`,
    act: rotate,
  },
  {
    name: 'finish-rotation',
    title: 'Finish the rotation',
    button: 'Finish',
    fields: (_endpoint, visit) =>
      html`<p>
          The former secret stops signing now. A receiver that does not have the new one yet refuses what is
          sent.
        </p>
        ${reasonField(visit, { optional: true })}`,
    async act(visit) {
      const { changed } = await visit.call('finishRotation', { ...changeOf(visit), body: {} });
      return done(visit, changed ? 'rotation_finished' : 'nothing_changed');
    },
  },
  {
    name: 'remove',
    title: 'Remove an endpoint',
    button: 'Remove it for good',
    danger: true,
    fields: removeFields,
    act: remove,
  },
];

export const endpointActionPages: readonly Page[] = [
  ...QUESTIONS.flatMap((question): Page[] => [
    { method: 'get', path: `/endpoints/:id/${question.name}`, show: (visit) => ask(visit, question) },
    {
      method: 'post',
      path: `/endpoints/:id/${question.name}`,
      show: (visit) =>
        tryForm(
          () => question.act(visit),
          (refused) => ask(visit, question, refused),
        ),
    },
  ]),
  { method: 'get', path: '/endpoints/:id/test', show: (visit) => test(visit, async () => html``) },
  { method: 'post', path: '/endpoints/:id/test', show: (visit) => test(visit, () => sendTest(visit)) },
];

async function ask(visit: Visit, question: Question, refused?: AppError): Promise<Sight> {
  checkAccess(visit.caller, 'change');
  const endpoint = await endpointOf(visit);
  const back = path('endpoints', endpoint.id);
  return {
    title: question.title,
    main: html`${whichEndpoint(endpoint)} ${refusal(refused, LABELS_OF_REQUEST)}
      <form method="post" action="${back}/${question.name}" class="panel form">
        ${csrfField(visit)} <input type="hidden" name="version" value="${endpoint.version}" />
        ${question.fields(endpoint, visit)}
        <div class="actions">
          <button class="${question.danger ? 'danger' : 'primary'}">${question.button}</button>
          <a class="button" href="${back}">Back</a>
        </div>
      </form>`,
  };
}

/** For the version that the form was made for: what somebody else did since is looked at before this is done. */
function changeOf(visit: Visit) {
  const version = Number(visit.form['version']);
  if (!Number.isSafeInteger(version) || version < 1)
    throw new AppError('request_invalid', 'The form is not complete. Open it again.');
  const reason = visit.form['reason']?.trim();
  return { params: params(visit), ifVersion: version, ...(reason && { query: { reason } }) };
}

async function rotate(visit: Visit): Promise<Sight> {
  const { overlap = '', key } = visit.form;
  const overlapMs = parseDurationMs(overlap);
  const mistakes =
    overlapMs === undefined ? [{ path: 'overlapMs', message: 'expected a duration such as 24h' }] : [];
  const body = judgeForm(BODIES.rotation, { overlapMs }, mistakes);
  const { id, secret } = await visit.call('rotateSecret', { ...changeOf(visit), body, idempotencyKey: key });
  const both =
    overlapMs === 0
      ? 'It signs alone from now on.'
      : `Both secrets sign for ${formatDuration(overlapMs ?? 0)}.`;
  return {
    title: 'New signing secret',
    main: html`<p>${both}</p>
      ${secretOnce(secret)}
      <p class="actions"><a class="button primary" href="${path('endpoints', id)}">To the endpoint</a></p>`,
  };
}

function removeFields({ id }: Endpoint, visit: Visit): SafeHtml {
  const list = (status: string, words: string) =>
    html`<a href="${link('/deliveries', { endpoint: id, status })}">${words}</a>`;
  return html`<p>There is no way back. From this moment on</p>
    <ul>
      <li>no new event is delivered to it, and its secrets are gone;</li>
      <li>
        its open deliveries (${list('pending', 'pending')}, ${list('failed', 'retrying')},
        ${list('held', 'held')}) become dead letters with the reason endpoint_removed. They cannot be
        replayed, only closed as settled;
      </li>
      <li>an attempt in flight ends by itself, and a success still counts.</li>
    </ul>
    <p>To hold deliveries for a while, <a href="${path('endpoints', id, 'pause')}">pause it</a> instead.</p>
    ${reasonField(visit)} ${tick('confirmed', 'I want to remove this endpoint for good.', { required: true })}`;
}

async function remove(visit: Visit): Promise<Sight> {
  const change = changeOf(visit);
  // Its form asks for both; a browser that did not look sends neither.
  if (!('query' in change)) throw new AppError('request_invalid', 'Say why: it goes into the audit log.');
  if (visit.form['confirmed'] !== 'true')
    throw new AppError('request_invalid', 'Confirm that it is to be removed for good.');
  const { finished } = await visit.call('removeEndpoint', change);
  return { goTo: '/endpoints', notice: finished ? 'endpoint_removed' : 'endpoint_leaving' };
}

async function test(visit: Visit, result: () => Promise<SafeHtml>): Promise<Sight> {
  checkAccess(visit.caller, 'change');
  const endpoint = await endpointOf(visit);
  return {
    title: 'Test an endpoint',
    main: html`${whichEndpoint(endpoint)} ${await result()}
      <form method="post" action="${path('endpoints', endpoint.id, 'test')}" class="panel form">
        ${csrfField(visit)}
        <p>
          One signed request of type <code>breakwater.test</code>, sent as deliveries are: same rules,
          headers, timeout and judgement. It makes no event and no delivery, counts nowhere, and works while
          the endpoint is paused.
        </p>
        <div class="actions">
          <button class="primary">Send a test</button>
          <a class="button" href="${path('endpoints', endpoint.id)}">To the endpoint</a>
        </div>
      </form>`,
  };
}

async function sendTest(visit: Visit): Promise<SafeHtml> {
  const result = await visit.call('testEndpoint', { params: params(visit), body: {} });
  const { ok, remedy, sample } = result;
  return html`<section class="panel" aria-label="Result of the test" role="status">
      <p class="headline">
        <span class="status" data-status="${ok ? 'sent' : 'failed'}">${ok ? 'it works' : 'failed'}</span>
        <small>${result.class === 'sent' ? '' : result.class} ${foreign(result.code)}</small>
      </p>
      ${when(remedy !== '', html`<p class="remedy">${remedy}</p>`)}
      ${when(result.resumed, html`<p>It was paused for failing too long; this success has resumed it.</p>`)}
      ${facts([
        ['Took', formatDuration(result.durationMs)],
        result.message !== '' && ['Message', foreign(result.message)],
        ['webhook-id', code(result.testId)],
        sample !== null && ['Content type', foreign(sample.contentType || 'none')],
      ])}
    </section>
    ${
      sample === null
        ? html`<p class="empty">No answer came.</p>`
        : html`<section>
            <h2>Its answer${when(sample.truncated, ' (only the beginning)')}</h2>
            ${block(sample.text, 'Answer to the test, as text')}
          </section>`
    }`;
}
