import { formatDuration } from '@breakwater/contracts/duration';
import { type EndpointView, recentInWords } from '@breakwater/core/endpoint-view';
import type { PauseState } from '@breakwater/store/gates';
import type { RecentAnswers } from '@breakwater/store/recent-answers';
import { renderFields } from '../output/table.ts';
import { formatTime } from '../output/time.ts';

type Shown = EndpointView & PauseState & { readonly recent?: RecentAnswers };

/** Since when, by whom and why, where nothing is sent; how long it has been failing, where that is all it does. */
function stateOf(endpoint: Shown, now: number): string {
  const { paused, pausedAt, pausedBy, pausedReason, pausedAutomatically, failingSince } = endpoint;
  const failing = failingSince === null ? '' : `; not one success since ${formatTime(failingSince, now)}`;
  if (!paused) return `active${failing}`;
  return [
    pausedAutomatically ? 'paused automatically' : 'paused',
    ...(pausedAt === null ? [] : [`since ${formatTime(pausedAt, now)}`]),
    ...(pausedAutomatically || pausedBy === null ? [] : [`by ${pausedBy}`]),
    ...(pausedReason === null ? [] : [`because: ${pausedReason}`]),
  ]
    .join(' ')
    .concat(failing);
}

export const renderEndpoint = (endpoint: Shown, now: number): string =>
  renderFields([
    ['id', endpoint.id],
    ['operator', endpoint.operator],
    ['version', String(endpoint.version)],
    ['state', stateOf(endpoint, now)],
    ...(endpoint.recent ? [['last 24 hours', recentInWords(endpoint.recent)] as const] : []),
    ['url', endpoint.url],
    ['types', endpoint.types.join(', ')],
    ['sources', endpoint.sources.join(', ') || 'all of the operator'],
    ['description', endpoint.description || '-'],
    ['body', endpoint.body],
    ['reference', endpoint.reference === 'source' ? 'source:event id' : 'event id'],
    ['headers', Object.keys(endpoint.headers).join(', ') || 'none of its own'],
    ['timeout', formatDuration(endpoint.timeoutMs)],
    ['max in flight', String(endpoint.maxInFlight)],
    [
      'rate limit',
      endpoint.rateLimit
        ? `${endpoint.rateLimit.perSecond}/s, up to ${endpoint.rateLimit.burst} at once`
        : 'none',
    ],
    ['schedule', endpoint.scheduleMs?.map((ms) => formatDuration(ms)).join(', ') ?? "the deployment's"],
    ...endpoint.secrets.map((secret): [string, string] => ['secret', renderSecret(secret, now)]),
    ['created', formatTime(endpoint.createdAt, now)],
  ]);

function renderSecret({ expiresAt, sealedWith }: EndpointView['secrets'][number], now: number): string {
  const key = `stored under key ${sealedWith}`;
  if (expiresAt === null) return `current, not shown, ${key}`;
  return expiresAt > now
    ? `former, signs for another ${formatDuration(expiresAt - now)}, ${key}`
    : 'former, signs no more';
}
