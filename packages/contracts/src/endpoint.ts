import { z } from 'zod';
import { RETRY_WAIT_MAX_MS } from './duration.ts';
import { endpointHeaders } from './endpoint-headers.ts';
import { TYPE_PATTERN_LIMITS, typePattern } from './type-pattern.ts';

/** How fast an endpoint may be called: so many in a second on average, so many at once after a pause. */
export const RateLimit = z
  .strictObject({
    /** Below one: 0.1 is one in ten seconds. */
    perSecond: z.number().min(0.01).max(1_000),
    /** By default one second's worth, at least one. */
    burst: z.int().min(1).max(10_000).optional(),
  })
  .transform(({ perSecond, burst }) => ({ perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) }));
export type RateLimit = z.infer<typeof RateLimit>;

const settings = {
  url: z.string().min(1).max(2_048),
  /** Event types that it wants, with `*` for any text; empty means all. */
  types: z
    .array(typePattern)
    .max(TYPE_PATTERN_LIMITS.patterns, `at most ${TYPE_PATTERN_LIMITS.patterns} type patterns`)
    .transform((types) => (types.length === 0 ? ['*'] : [...new Set(types)])),
  /** Sources that feed it; empty means all of its operator. */
  sources: z
    .array(z.string().min(1).max(63))
    .max(50)
    .transform((sources) => [...new Set(sources)]),
  description: z.string().max(500),
  /** The envelope, or the source's own bytes alone. */
  body: z.enum(['envelope', 'raw']),
  timeoutMs: z.int().min(1_000, 'expected 1s to 30s').max(30_000, 'expected 1s to 30s'),
  /** Attempts at once. */
  maxInFlight: z.int().min(1).max(1_000),
  /** Own schedule: each entry is the wait before one attempt; null follows the deployment's. */
  scheduleMs: z.array(z.int().min(0).max(RETRY_WAIT_MAX_MS)).min(1).max(50).nullable(),
  rateLimit: RateLimit.nullable(),
  /** What webhook-id is: the event id, or `source:event id` where several sources feed the endpoint. */
  reference: z.enum(['event', 'source']),
  headers: endpointHeaders,
};

/** What may be said about a new endpoint. What is left out gets the deployment's defaults. */
export const NewEndpointSettings = z
  .strictObject({
    ...settings,
    /** `whsec_...`; generated when it is left out. */
    secret: z.string(),
  })
  .partial()
  .required({ url: true });
export type NewEndpointSettings = z.input<typeof NewEndpointSettings>;

/** A change: what is left out stays as it is; a header of null is taken away. */
export const EndpointPatch = z.strictObject(settings).partial();
export type EndpointPatch = z.input<typeof EndpointPatch>;

/** Longest overlap of a rotation: a receiver that has not moved in a month never will by itself. */
export const OVERLAP_MAX_MS = 30 * 86_400_000;

/** Type of the request that `endpoints test` sends; no event ever has it. */
export const TEST_EVENT_TYPE = 'breakwater.test';
