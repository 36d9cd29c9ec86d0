import { z } from 'zod';
import { time } from './admin-views.ts';

/** The figures of the overview, as the admin API answers them. */

const AckTimes = z
  .object({
    overMs: z.int().describe('Of so long, up to now.'),
    count: z.int(),
    p50Ms: z.number().nullable().describe('Null where there was none. 2,000 stands for all that is longer.'),
    p99Ms: z.number().nullable(),
  })
  .meta({ id: 'AckTimes' });

const TargetStats = z.object({
  target: z.string(),
  owner: z.string(),
  expected: z.int(),
  postings: z.int(),
  resolved: z.int(),
  documents: z.number().nullable().describe("The ERP's own count; null where it is not known."),
  ratio: z
    .number()
    .nullable()
    .describe('Documents (else postings) per posting owed; null where it is not known, or nothing is owed.'),
  breaker: z.enum(['closed', 'half_open', 'open']).nullable(),
});

const History = z
  .object({
    stepMs: z.int().describe('Apart of two points; more where nothing was written.'),
    targets: z.array(
      z.object({
        target: z.string(),
        resetAt: time.nullable().describe('The counters began anew then; what was before is left out.'),
        points: z
          .array(z.object({ at: time, owed: z.int(), postings: z.int(), documents: z.number().nullable() }))
          .describe('Oldest first. Owed: expected less resolved.'),
      }),
    ),
  })
  .meta({ id: 'History' });

const FleetStats = z
  .object({
    takenAt: time.nullable().describe('When the figures that may be null were read; null: not of late.'),
    deliveries: z.record(z.string(), z.record(z.string(), z.int())),
    targets: z.array(TargetStats),
    interrupted: z.int(),
    autoPauses: z.int(),
    acknowledgements: AckTimes,
    pastDueMs: z
      .record(z.string(), z.number())
      .nullable()
      .describe('Queue -> the oldest alarm past its time.'),
    oldestOpenMs: z
      .record(z.string(), z.number())
      .nullable()
      .describe('Destination -> age of its oldest open delivery; 0 where there is none.'),
    redis: z.object({ usedBytes: z.int(), maxBytes: z.int().nullable() }).nullable(),
    history: History.nullable().describe('Only with ?history.'),
  })
  .meta({ id: 'FleetStats' });

export const StatsView = z
  .object({
    operator: z.string(),
    deliveries: z.record(z.string(), z.int()).describe('Status -> deliveries now.'),
    sources: z
      .array(z.object({ source: z.string(), accepted: z.int(), unrouted: z.int() }))
      .describe('The configured ones, and last `api`: what applications published for the operator.'),
    acknowledgements: AckTimes.describe(
      "Of the operator's configured sources. Those of `api` are kept for all operators together: see the fleet.",
    ),
    fleet: FleetStats.nullable().describe('Of all operators; null for a token of one.'),
  })
  .meta({ id: 'Stats' });
