import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { fanOutStep } from '@breakwater/core/reconcile-steps';
import { sourcesOfOperator } from '@breakwater/core/source-report';
import { AppError } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { field } from '../forms.ts';
import type { Answer, Page, Sight, Visit } from '../page.ts';
import { code, eventPath, facts, foreign, link, path, table, time, when } from '../parts.ts';
import { payload, payloadButton } from '../payload.ts';
import { deliveryTable } from './deliveries.ts';

type Event = Answer<'getEvent'>;

/** As many as the call answers with. */
const DELIVERIES_SHOWN = 100;

export const eventPages: readonly Page[] = [
  {
    method: 'get',
    path: '/events',
    show: (visit) => {
      const { source, event } = visit.query;
      return source !== undefined && event !== undefined
        ? look(visit, source, event)
        : Promise.resolve({ title: 'Find an event', main: findEvent(source, event) });
    },
  },
  {
    method: 'get',
    path: '/events/:source/:eventId',
    show: (visit) => look(visit, visit.params['source'] ?? '', visit.params['eventId'] ?? ''),
  },
];

/** A form that leads to an event by its id, which a path cannot do for every id. */
export const findEvent = (source?: string, eventId?: string): SafeHtml =>
  html`<form method="get" action="/events" class="filters panel" role="search">
    ${field({ name: 'source', label: 'Source', value: source, required: true })}
    ${field({ name: 'event', label: 'Event id', type: 'search', value: eventId, required: true })}
    <div class="actions"><button class="primary">Find the event</button></div>
  </form>`;

async function look(visit: Visit, source: string, eventId: string): Promise<Sight> {
  const body = visit.query['body'] === 'true';
  const params = { source, eventId };
  try {
    const event = await visit.call('getEvent', { params, query: { body: String(body) } });
    return {
      title: 'Event',
      main: html`${summary(event, visit)} ${payloadOf(event)} ${deliveries(event, visit.now)}
      ${documents(event)}`,
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    return { title: 'Event', main: notFound(params, visit), status: error.status };
  }
}

function notFound(
  { source, eventId }: { source: string; eventId: string },
  { config, operator }: Visit,
): SafeHtml {
  const own = sourcesOfOperator(config, operator).map(([name]) => name);
  return html`<div class="error" role="alert">
      <p>
        No event ${foreign(eventId)} of source ${foreign(source)} is yours: it was not accepted, waits for its
        fan-out by the dispatcher, or its retention is over.
      </p>
      ${when(
        source !== RESERVED_SOURCE && !own.includes(source),
        html`<p>
          Operator ${foreign(operator)} has no source ${foreign(source)}. It has
          ${[...own, RESERVED_SOURCE].join(', ')}.
        </p>`,
      )}
    </div>
    ${findEvent(source, eventId)}`;
}

function summary(event: Event, { now, config }: Visit): SafeHtml {
  return html`<section class="panel" aria-label="Facts">
    <p class="headline">${foreign(event.eventId)}</p>
    ${
      event.unrouted
        ? html`<div class="remedy">
            <p>
              <strong>Unrouted.</strong> No route or endpoint wanted this event when it came, so nothing was
              delivered. It is kept. Correct the configuration or register an endpoint, then deliver it:
            </p>
            <p>${code(fanOutStep(event.operator, event.source, event.eventId))}</p>
          </div>`
        : ''
    }
    ${facts([
      ['Source', sourceOf(event.source, config)],
      ['Type', foreign(event.type)],
      event.entity !== '' && ['Entity', foreign(event.entity)],
      ['Received', time(event.receivedAt, now)],
      event.occurredAt !== undefined && ['Occurred, as the sender says', time(event.occurredAt, now)],
      ['Content type', foreign(event.contentType || 'none')],
      ['Size', `${event.bodyBytes} bytes`],
      ['Operator', foreign(event.operator)],
    ])}
  </section>`;
}

/** What applications publish comes from no source of the configuration. */
const sourceOf = (name: string, { sources }: Visit['config']): SafeHtml =>
  Object.hasOwn(sources, name)
    ? html`<a href="${path('sources', name)}">${foreign(name)}</a>`
    : foreign(name);

function payloadOf({ source, eventId, body }: Event): SafeHtml {
  const to = eventPath(source, eventId);
  const asked = to.startsWith('/events?');
  return html`<section>
    <h2>Payload</h2>
    ${
      body
        ? html`${payload(body, 'Payload, as text')}
            <p><a class="button" href="${to}">Hide the payload</a></p>`
        : payloadButton(asked ? '/events' : to, asked ? { source, event: eventId } : {})
    }
  </section>`;
}

function deliveries(event: Event, now: number): SafeHtml {
  const all = link('/deliveries', { event: event.eventId, source: event.source });
  return html`<section>
    <h2>Deliveries</h2>
    ${
      event.deliveries.length === 0
        ? html`<p class="empty">
            ${event.unrouted ? 'None: the event is unrouted.' : 'None is recorded yet.'}
          </p>`
        : deliveryTable(event.deliveries, now)
    }
    ${
      event.deliveries.length >= DELIVERIES_SHOWN
        ? html`<p>
            The first ${DELIVERIES_SHOWN} are shown. <a href="${all}">All deliveries of this event</a>
          </p>`
        : ''
    }
  </section>`;
}

const documents = ({ erpDocuments, deliveries: all }: Event): SafeHtml | string =>
  all.some(({ destination }) => destination.kind === 'erp')
    ? html`<section>
        <h2>ERP documents</h2>
        ${table(
          'ERP documents of this event',
          [
            { title: 'ERP target', cell: ({ target }) => code(target) },
            { title: 'Reference', cell: ({ reference }) => code(reference) },
            {
              title: 'Document',
              cell: ({ receipt }) => (receipt === null ? 'the ERP did not name it' : foreign(receipt)),
            },
            {
              title: 'Delivery',
              cell: ({ delivery }) => html`<a href="${path('deliveries', delivery)}">${code(delivery)}</a>`,
            },
          ],
          erpDocuments,
          'No document is known to have been made of this event.',
        )}
      </section>`
    : '';
