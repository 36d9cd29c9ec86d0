import { formatDuration, writeDuration } from '@breakwater/contracts/duration';
import { html, type SafeHtml } from '@remix-run/html-template';
import { csrfField } from '../forms.ts';
import type { Page, Visit } from '../page.ts';
import { code, facts, foreign, link, live, path, time, when } from '../parts.ts';
import { type Endpoint, endpointOf, endpointState, overlapEnd, recentAnswers } from './endpoint-parts.ts';

export const endpointPages: readonly Page[] = [
  {
    method: 'get',
    path: '/endpoints/:id',
    async show(visit) {
      const endpoint = await endpointOf(visit);
      return {
        title: 'Endpoint',
        main: html`${live('endpoint', 5, path('endpoints', endpoint.id), html`${state(endpoint, visit)} ${settings(endpoint, visit)}`)}
        ${when(visit.caller.scope.role !== 'read', actions(endpoint, visit))}`,
      };
    },
  },
];

function state(endpoint: Endpoint, { now }: Visit): SafeHtml {
  const { id, paused, pausedAt, pausedBy, pausedReason, pausedAutomatically } = endpoint;
  return html`<section class="panel" aria-label="State">
    <p class="headline">${endpointState(endpoint, now)}</p>
    ${when(
      pausedAutomatically,
      html`<p class="remedy">
        It failed for too long without one success. Mend the receiver and send a test: a success resumes it.
      </p>`,
    )}
    ${facts([
      ['URL', foreign(endpoint.url)],
      ['Last 24 hours', recentAnswers(endpoint)],
      paused && ['Paused', time(pausedAt, now)],
      paused && pausedBy !== null && ['Paused by', foreign(pausedBy)],
      paused && pausedReason !== null && ['Because', foreign(pausedReason)],
    ])}
    <p class="actions">
      <a class="button" href="${link('/deliveries', { endpoint: id })}">Its deliveries</a>
      <a class="button" href="${link('/dead-letters', { endpoint: id })}">Its dead letters</a>
    </p>
  </section>`;
}

function settings(endpoint: Endpoint, { now, config }: Visit): SafeHtml {
  const { types, sources, rateLimit, scheduleMs, headers, secrets } = endpoint;
  const schedule = scheduleMs ?? config.deliveries.retrySchedule;
  const names = Object.keys(headers);
  return html`<section>
    <h2>Settings</h2>
    <div class="panel">
      ${facts([
        ['Description', endpoint.description === '' ? '–' : foreign(endpoint.description)],
        ['Types', foreign(types.join(', '))],
        ['Sources', sources.length === 0 ? 'all of the operator' : foreign(sources.join(', '))],
        ['Reference (webhook-id)', endpoint.reference === 'source' ? 'source:event id' : 'the event id'],
        [
          'Body',
          endpoint.body === 'raw'
            ? "raw: the source's own bytes alone"
            : 'envelope: id, type, timestamp, data',
        ],
        ['Timeout', formatDuration(endpoint.timeoutMs)],
        ['Attempts at once', endpoint.maxInFlight],
        [
          'Rate limit',
          rateLimit ? `${rateLimit.perSecond} a second, up to ${rateLimit.burst} at once` : 'none',
        ],
        [
          'Schedule of attempts',
          `${schedule.map(writeDuration).join(', ')}${scheduleMs === null ? " (the deployment's)" : ''}`,
        ],
        [
          'Headers of its own',
          names.length === 0
            ? 'none'
            : html`${code(names.join(', '))} <small>values are shown nowhere</small>`,
        ],
        ...secrets.map((secret) => ['Signing secret', secretState(secret, now)] as const),
        ['Registered', time(endpoint.createdAt, now)],
        endpoint.updatedAt !== undefined &&
          endpoint.updatedAt !== endpoint.createdAt && ['Changed', time(endpoint.updatedAt, now)],
        ['Version', endpoint.version],
        ['Operator', code(endpoint.operator)],
        ['Endpoint id', code(endpoint.id)],
      ])}
    </div>
  </section>`;
}

function secretState({ expiresAt, sealedWith }: Endpoint['secrets'][number], now: number): SafeHtml {
  const words =
    expiresAt === null
      ? 'current'
      : expiresAt > now
        ? `former, signs for another ${formatDuration(expiresAt - now)}`
        : 'former, signs no more';
  return html`${words} <small>not shown; stored under key ${code(sealedWith)}</small>`;
}

function actions(endpoint: Endpoint, visit: Visit): SafeHtml {
  const to = (action: string): string => path('endpoints', endpoint.id, action);
  return html`<section>
    <h2>What to do</h2>
    <div class="actions">
      <form method="post" action="${to('test')}">
        ${csrfField(visit)}<button class="primary">Send a test</button>
      </form>
      <a class="button" href="${to('edit')}">Change</a>
      ${
        endpoint.paused
          ? html`<a class="button" href="${to('resume')}">Resume</a>`
          : html`<a class="button" href="${to('pause')}">Pause</a>`
      }
      <a class="button" href="${to('rotate-secret')}">Rotate the secret</a>
      ${when(
        overlapEnd(endpoint, visit.now) !== undefined,
        html`<a class="button" href="${to('finish-rotation')}">Finish the rotation</a>`,
      )}
      <a class="button danger" href="${to('remove')}">Remove</a>
    </div>
  </section>`;
}
