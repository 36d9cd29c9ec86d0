import { z } from 'zod';
import { duration } from './duration.ts';

const FOREVER_MS = 100 * 365 * 86_400_000; // without a ttl BullMQ forgets an id at completion

/** How long an accepted id is remembered, in ms once read. */
export const dedupeTtl = z.union([
  z.literal('forever').transform(() => FOREVER_MS),
  duration.refine((ms) => ms >= 60_000, 'expected at least 1m'),
]);

/** Longest a coalescing event waits for more of its kind: its resource is not looked at meanwhile. */
const MAX_WINDOW_MS = 3_600_000;

const POLICIES = ['event', 'none', 'coalesce'] as const;

/**
 * What two deliveries with one id are.
 * - `event`: one event.
 * - `none`: two events, always.
 * - `coalesce`: for thin events, whose body only names what to look at again. Equal bytes are one event until the event
 *   is handed to fan-out, which ends the claim before any delivery exists. So whoever reads the resource reads it after
 *   the last notification that was merged, and what comes later is another event: no change is lost.
 */
export const Dedupe = z
  .union([
    z.enum(POLICIES),
    z.strictObject({
      policy: z.enum(POLICIES).default('event'),
      /** Instead of `ingest.dedupe`, for a provider that repeats for longer. */
      ttl: dedupeTtl.optional(),
      /** How long an event is held back so that more can be merged into it; by default only what waits anyway is. */
      window: duration.refine((ms) => ms <= MAX_WINDOW_MS, 'expected at most 1h').optional(),
    }),
  ])
  .transform((written) => (typeof written === 'string' ? { policy: written } : written))
  .superRefine((dedupe, context) => {
    const issue = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    if ('window' in dedupe && dedupe.window !== undefined && dedupe.policy !== 'coalesce')
      issue('window', 'a window belongs to policy coalesce');
    if ('ttl' in dedupe && dedupe.ttl !== undefined && dedupe.policy !== 'event')
      issue('ttl', 'a ttl belongs to policy event: the other policies remember no id');
  })
  .transform((dedupe): Dedupe => ({
    policy: dedupe.policy,
    ttlMs: 'ttl' in dedupe ? dedupe.ttl : undefined,
    windowMs: ('window' in dedupe ? dedupe.window : undefined) ?? 0,
  }));

export interface Dedupe {
  readonly policy: (typeof POLICIES)[number];
  /** Undefined for the deployment's own. */
  readonly ttlMs: number | undefined;
  readonly windowMs: number;
}
