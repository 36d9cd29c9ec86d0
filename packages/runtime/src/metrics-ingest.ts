import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ErrorCode } from './errors.ts';

/** What became of a webhook; the values of the metric's label. */
export const WEBHOOK_OUTCOMES = [
  'accepted',
  'deduped',
  'differs',
  'replayed',
  'rejected',
  'unavailable',
] as const;
export type WebhookOutcome = (typeof WEBHOOK_OUTCOMES)[number];

/** Why a refused request is kept: what a person may undo by correcting a secret or a setting. */
export const QUARANTINE_REASONS = [
  'signature_invalid',
  'timestamp_out_of_tolerance',
  'event_id_missing',
  'body_unparsable',
] as const;
export type QuarantineReason = (typeof QUARANTINE_REASONS)[number];

/** Label of every request to a source that is not configured: names from outside would grow the metric without bound. */
export const UNKNOWN_SOURCE = 'unknown';

/** What an alert looks for: these series begin at 0 too. */
const SIGNATURE_CODES = [
  'signature_missing',
  'signature_invalid',
  'timestamp_out_of_tolerance',
] as const satisfies readonly ErrorCode[];

/**
 * 1 ms to 2 s, the limit for answering at all. 10 ms and 150 ms are the two promises about acknowledgements (p99 at half
 * of saturation, and every one in a storm): a bucket's own bound is exact, a quantile between bounds is interpolated.
 */
export const ACK_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2] as const;

/** One bucket of the metric, as Prometheus has it: it holds the smaller ones too. */
export interface AckTotal {
  readonly source: string;
  /** Upper bound in seconds; `+Inf` for all. */
  readonly le: string;
  readonly total: number;
}

export interface IngestMetrics {
  /** One more webhook of a source, or of UNKNOWN_SOURCE. */
  readonly received: (source: string, outcome: WebhookOutcome) => void;
  /** One more refused request of a source was kept for `quarantine retry`. */
  readonly quarantined: (source: string, reason: QuarantineReason) => void;
  /** One more webhook of a source, or of UNKNOWN_SOURCE, that got an error. `code` is the error's, of the closed table. */
  readonly refused: (source: string, code: ErrorCode) => void;
  /** Seconds from a request's headers to its acknowledgement, its upload included: what the provider waits for. */
  readonly acknowledged: (source: string, seconds: number) => void;
  /** What `ack_duration_seconds` shows now: acknowledgements since the start that took `le` seconds at most. */
  readonly acknowledgements: () => Promise<AckTotal[]>;
  /** Exports whether Redis' settings are durable: 1, or 0 where they are weaker (also where that is tolerated) or not known. */
  readonly watchDurable: (durable: () => boolean) => void;
}

/**
 * Metrics of accepting. Every outcome of every source begins at 0, or Prometheus would not see the first one as an
 * increase.
 */
export function createIngestMetrics(registry: Registry, sources: readonly string[] = []): IngestMetrics {
  const received = new Counter({
    name: 'breakwater_webhooks_received_total',
    help: 'Webhooks that were answered, by source and outcome. For rates; totals that must equal facts are in the ledger.',
    labelNames: ['source', 'outcome'] as const,
    registers: [registry],
  });
  const refused = new Counter({
    name: 'breakwater_webhooks_refused_total',
    help: 'Webhooks that got an error, by source and code of the error.',
    labelNames: ['source', 'code'] as const,
    registers: [registry],
  });
  const ackDuration = new Histogram({
    name: 'breakwater_ack_duration_seconds',
    help: 'Seconds from the headers of a webhook to its acknowledgement (2xx).',
    labelNames: ['source'] as const,
    buckets: [...ACK_BUCKETS_S],
    registers: [registry],
  });
  const quarantined = new Counter({
    name: 'breakwater_quarantined_requests_total',
    help: 'Refused webhooks that were kept for 24 hours, by source and reason; a wrong secret or setting shows here.',
    labelNames: ['source', 'reason'] as const,
    registers: [registry],
  });
  for (const source of sources) {
    for (const reason of QUARANTINE_REASONS) quarantined.inc({ source, reason }, 0);
  }
  for (const source of [...sources, RESERVED_SOURCE, UNKNOWN_SOURCE]) {
    for (const outcome of WEBHOOK_OUTCOMES) received.inc({ source, outcome }, 0);
    ackDuration.zero({ source });
    for (const code of SIGNATURE_CODES) refused.inc({ source, code }, 0);
  }
  return {
    received: (source, outcome) => received.inc({ source, outcome }),
    quarantined: (source, reason) => quarantined.inc({ source, reason }),
    refused: (source, code) => refused.inc({ source, code }),
    acknowledged: (source, seconds) => ackDuration.observe({ source }, seconds),
    async acknowledgements() {
      const { values } = await ackDuration.get();
      return values.flatMap(({ metricName, labels, value }) => {
        if (metricName?.endsWith('_bucket') !== true) return [];
        const { source, le } = labels as Record<string, string | number>; // `le` is the library's own
        return [{ source: String(source), le: String(le), total: value }];
      });
    },
    watchDurable(durable) {
      const gauge = new Gauge({
        name: 'breakwater_redis_durable',
        help: 'Whether Redis keeps what is acknowledged: 1, or 0 under weaker settings (DURABILITY=relaxed tolerates them).',
        registers: [registry],
        collect() {
          this.set(durable() ? 1 : 0);
        },
      });
      void gauge;
    },
  };
}
