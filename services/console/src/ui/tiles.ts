import { formatDuration } from '@breakwater/contracts/duration';
import { html, type SafeHtml } from '@remix-run/html-template';
import type { Answer } from './page.ts';
import { when } from './parts.ts';

type Stats = Answer<'getStats'>;

/** One figure with its name and, below, what to know about it. `bad`: why it is not as it should be, in words. */
export interface Tile {
  readonly label: SafeHtml | string;
  readonly value: SafeHtml | string | number;
  readonly about?: SafeHtml | string;
  readonly bad?: string | undefined;
}

export const tiles = (label: string, all: readonly Tile[]): SafeHtml =>
  html`<ul class="tiles plain ${when(all.length === 7, 'seven')}" aria-label="${label}">
    ${all.map(
      ({ label: name, value, about = '', bad }) =>
        html`<li class="tile" ${when(bad !== undefined, html`data-state="bad"`)}>
          ${name} <strong>${value}</strong>
          <small>${bad ?? ''} ${about}</small>
        </li>`,
    )}
  </ul>`;

export const NOT_KNOWN = '–';

/** Where alerts notify too: see docs/runbooks. */
const PAST_DUE_MAX_MS = 60_000;
const ACK_P99_MAX_MS = 150;
const MEMORY_MAX = 0.7;

/** Short times with as many digits as buckets can tell. */
export function shortTime(ms: number | null): string {
  if (ms === null) return NOT_KNOWN;
  if (ms >= 2_000) return '2 s or more';
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

export const ackTile = ({ p50Ms, p99Ms, count, overMs }: Stats['acknowledgements'], whose: string): Tile => ({
  label: `Acknowledged ${whose}, p99`,
  value: shortTime(p99Ms),
  about: `p50 ${shortTime(p50Ms)}; ${count} in ${formatDuration(overMs)}`,
  bad: p99Ms !== null && p99Ms > ACK_P99_MAX_MS ? 'Slower than 150 ms.' : undefined,
});

/** What an operations person asks first. */
export function fleetTiles(
  {
    acknowledgements,
    pastDueMs,
    oldestOpenMs,
    deliveries,
    interrupted,
    autoPauses,
    redis,
  }: NonNullable<Stats['fleet']>,
  operator: string,
): Tile[] {
  const [queue, late] = largest(pastDueMs);
  const [where, oldest] = largest(oldestOpenMs);
  const dead = Object.values(deliveries).reduce((sum, statuses) => sum + (statuses['dead_letter'] ?? 0), 0);
  return [
    ackTile(acknowledgements, 'by all of ingest'),
    {
      label: 'Past due',
      value: age(late),
      about: late ? `the oldest of queue ${queue}` : 'alarms ring in time; none waits',
      bad:
        late !== undefined && late > PAST_DUE_MAX_MS
          ? 'Later than a minute: does every service run?'
          : undefined,
    },
    {
      label: 'Oldest open delivery',
      value: age(oldest),
      about: oldest ? `to ${where === 'endpoint' ? 'an endpoint' : `ERP ${where}`}` : 'nothing is open',
    },
    {
      label: 'Dead letters of all operators',
      value: dead,
      bad: dead > 0 ? 'Somebody must look at them.' : undefined,
      about: dead > 0 ? html`<a href="/dead-letters">Those of ${operator}</a>` : 'none',
    },
    { label: 'Interrupted attempts', value: interrupted, about: 'in all: their process died or stopped' },
    {
      label: 'Endpoints paused by themselves',
      value: autoPauses,
      about: 'in all: they had failed for too long',
    },
    memoryTile(redis),
  ];
}

function memoryTile(redis: NonNullable<Stats['fleet']>['redis']): Tile {
  const label = 'Memory of Redis';
  if (redis === null) return { label, value: NOT_KNOWN };
  const { usedBytes, maxBytes } = redis;
  const share = maxBytes === null ? undefined : usedBytes / maxBytes;
  return {
    label,
    value: mebibytes(usedBytes),
    about:
      share === undefined || maxBytes === null
        ? 'without a limit'
        : `${Math.round(100 * share)}% of ${mebibytes(maxBytes)}`,
    bad: share !== undefined && share > MEMORY_MAX ? 'Above 80% ingest takes nothing.' : undefined,
  };
}

const age = (ms: number | undefined): string => {
  if (ms === undefined) return NOT_KNOWN;
  return ms === 0 ? 'none' : formatDuration(ms);
};

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;

const largest = (values: Readonly<Record<string, number>> | null): [name: string, value?: number] =>
  Object.entries(values ?? {}).reduce<[string, number?]>(
    (most, each) => (most[1] === undefined || each[1] > most[1] ? each : most),
    [''],
  );
