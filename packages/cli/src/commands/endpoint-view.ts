import { formatDuration } from '@breakwater/contracts/duration';
import type { EndpointView } from '@breakwater/core/endpoint-view';
import { renderFields } from '../output/table.ts';
import { formatTime } from '../output/time.ts';

type Shown = EndpointView & { readonly paused: boolean };

export const renderEndpoint = (endpoint: Shown, now: number): string =>
  renderFields([
    ['id', endpoint.id],
    ['operator', endpoint.operator],
    ['version', String(endpoint.version)],
    ['state', endpoint.paused ? 'paused' : 'active'],
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
