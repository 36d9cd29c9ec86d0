import { Counter, Histogram, type Registry } from 'prom-client';

export interface AttemptMetrics {
  /** `destination` is an ERP target's name or `endpoint`; `outcome` is `sent` or `failed`. */
  readonly attempt: (destination: string, outcome: string, durationMs: number) => void;
}

/** From a fast receiver to the ERP's time-out of 30 s; 5 is the endpoints' default time-out. */
const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/**
 * Metrics of attempts. What is known beforehand begins at 0: a series that appears with its first values shows no
 * increase to Prometheus.
 */
export function createAttemptMetrics(registry: Registry, destinations: readonly string[]): AttemptMetrics {
  const attempts = new Counter({
    name: 'breakwater_delivery_attempts_total',
    help: 'Attempts by destination and outcome.',
    labelNames: ['destination', 'outcome'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'breakwater_delivery_attempt_duration_seconds',
    help: 'How long an attempt took.',
    labelNames: ['destination'],
    buckets: SECONDS,
    registers: [registry],
  });
  for (const destination of destinations) {
    for (const outcome of ['sent', 'failed']) attempts.inc({ destination, outcome }, 0);
    duration.zero({ destination });
  }
  return {
    attempt(destination, outcome, durationMs) {
      attempts.inc({ destination, outcome });
      duration.observe({ destination }, durationMs / 1_000);
    },
  };
}
