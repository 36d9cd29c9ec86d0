import { formatDuration } from '@breakwater/contracts/duration';
import type { EndpointRecord } from '@breakwater/store/endpoints';
import type { PauseState } from '@breakwater/store/gates';
import { renderFields } from '../output/table.ts';
import { formatTime } from '../output/time.ts';

/** An endpoint as it is shown: everything but its secrets. */
export const withoutSecrets = ({ secrets, ...shown }: EndpointRecord, pause: PauseState) => ({
  ...shown,
  secretCount: secrets.length,
  ...pause,
});
type Shown = ReturnType<typeof withoutSecrets>;

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
    ['state', stateOf(endpoint, now)],
    ['url', endpoint.url],
    ['types', endpoint.types.join(', ')],
    ['sources', endpoint.sources.join(', ') || 'all of the operator'],
    ['description', endpoint.description || '-'],
    ['body', endpoint.body],
    ['reference', endpoint.reference === 'source' ? 'source:event id' : 'event id'],
    ['timeout', formatDuration(endpoint.timeoutMs)],
    ['max in flight', String(endpoint.maxInFlight)],
    ['schedule', endpoint.scheduleMs?.map((ms) => formatDuration(ms)).join(', ') ?? "the deployment's"],
    ['secrets', `${endpoint.secretCount}, not shown`],
    ['created', formatTime(endpoint.createdAt, now)],
  ]);
