import { formatDuration } from '@breakwater/contracts/duration';
import type { EndpointRecord } from '@breakwater/store/endpoints';
import { renderFields } from '../output/table.ts';
import { formatTime } from '../output/time.ts';

/** An endpoint as it is shown: everything but its secrets. */
export const withoutSecrets = ({ secrets, ...shown }: EndpointRecord, paused: boolean) => ({
  ...shown,
  secretCount: secrets.length,
  paused,
});
type Shown = ReturnType<typeof withoutSecrets>;

export const renderEndpoint = (endpoint: Shown, now: number): string =>
  renderFields([
    ['id', endpoint.id],
    ['operator', endpoint.operator],
    ['state', endpoint.paused ? 'paused' : 'active'],
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
