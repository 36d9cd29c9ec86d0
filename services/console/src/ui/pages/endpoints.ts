import { percentOf } from '@breakwater/core/endpoint-view';
import { html } from '@remix-run/html-template';
import type { Page } from '../page.ts';
import { foreign, link, live, nextPage, path, table, when } from '../parts.ts';
import { type Endpoint, endpointState } from './endpoint-parts.ts';

export const endpointsPages: readonly Page[] = [
  {
    method: 'get',
    path: '/endpoints',
    async show(visit) {
      const { query, now } = visit;
      const { endpoints, nextCursor } = await visit.call('listEndpoints', { query });
      return {
        title: 'Endpoints',
        main: html`${when(
          visit.caller.scope.role !== 'read',
          html`<p><a class="button primary" href="/endpoints/new">Register an endpoint</a></p>`,
        )}
        ${live('endpoints', 10, link('/endpoints', query), endpointTable(endpoints, now))}
        ${nextPage('/endpoints', query, nextCursor)}`,
      };
    },
  },
];

const endpointTable = (endpoints: readonly Endpoint[], now: number) =>
  table(
    'Endpoints',
    [
      { title: 'URL', cell: ({ id, url }) => html`<a href="${path('endpoints', id)}">${foreign(url)}</a>` },
      { title: 'State', cell: (endpoint) => endpointState(endpoint, now) },
      { title: 'Last 24 hours', cell: recentCell },
      { title: 'Types', cell: ({ types }) => foreign(shortList(types)) },
      { title: 'Sources', cell: ({ sources }) => (sources.length === 0 ? 'all' : shortList(sources)) },
      { title: 'Description', cell: ({ description }) => foreign(description) },
    ],
    endpoints,
    'No endpoint is registered.',
  );

const recentCell = ({ recent: { attempts, sent, successRate } }: Endpoint) =>
  successRate === null
    ? html`<span class="none">no attempts</span>`
    : html`${percentOf(successRate)} <small>${sent} of ${attempts} succeeded</small>`;

const SHOWN = 3;
const shortList = (names: readonly string[]): string =>
  names.length > SHOWN
    ? `${names.slice(0, SHOWN).join(', ')} and ${names.length - SHOWN} more`
    : names.join(', ');
