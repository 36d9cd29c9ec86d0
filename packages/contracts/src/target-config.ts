import { z } from 'zod';
import { duration, retryWait, timeout } from './duration.ts';
import { pointer } from './source-parts.ts';
import { typePattern } from './type-pattern.ts';

const expression = z.string().min(1, 'expected a JSONata expression');

/** Status codes as numbers or classes: `201`, `2xx`. */
const statuses = z.array(z.union([z.int().min(100).max(599), z.enum(['2xx', '4xx', '5xx'])])).default([]);

/** The `http` adapter: any JSON API, described by data. Expressions are JSONata over `event`, `document`, `reference`. */
export const HttpAdapter = z.strictObject({
  kind: z.literal('http'),
  baseUrl: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  /** Header that carries the reference where the ERP dedupes by it. */
  idempotencyHeader: z.string().optional(),
  post: z.strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
    path: expression,
    timeout: timeout.default(30_000),
    answers: z
      .strictObject({
        /** The ERP created a document. */
        posted: statuses.default(['2xx']),
        /** The ERP says that it already has one for this reference. */
        duplicate: statuses,
        /** The ERP refuses the document as it is. */
        rejected: statuses,
        /** Surely not applied, although the status alone does not say so. */
        failed: statuses,
      })
      .prefault({}),
    /** Name of the document at the ERP, from its answer (`answer`). */
    receipt: expression.optional(),
  }),
  find: z
    .strictObject({
      path: expression,
      timeout: timeout.default(10_000),
      /** Array of hits in the answer (`answer`). */
      hits: expression,
      receipt: expression.optional(),
      /** True when `hit` belongs to this event: guards against a reference that two events share. */
      sameEvent: expression.optional(),
    })
    .optional(),
  /** The ERP's own number of documents that carry our references. */
  count: z.strictObject({ path: expression, timeout: timeout.default(10_000), value: expression }).optional(),
});
export type HttpAdapter = z.infer<typeof HttpAdapter>;

const Breaker = z.strictObject({
  /** Opens after so many failures or unknowns in a row ... */
  consecutive: z.int().min(1).default(5),
  /** ... or when more than `percentage` of the last `window` results were failures, however far apart they came. */
  window: z.int().min(2).max(200).default(20),
  percentage: z.number().min(1).max(99).default(50),
  backoff: z.strictObject({ from: duration.default(5_000), to: duration.default(300_000) }).prefault({}),
});

export const ErpTarget = z
  .strictObject({
    /** Label of its alerts: who is paged. */
    owner: z.string().min(1),
    adapter: z.discriminatedUnion('kind', [HttpAdapter]),
    /** The document to post: JSONata over the event. */
    document: expression,
    /** What identifies the event at the ERP; the event id by default. JSONata over the event. */
    reference: expression.optional(),
    /** Work with the same key is posted one at a time. */
    serialKey: z.strictObject({ pointer }).optional(),
    lookup: z.enum(['always', 'after_unknown']).default('always'),
    /** The ERP itself refuses or merges a second document of the same reference or idempotency key. */
    dedupes: z.boolean().default(false),
    /** How long after an unknown outcome the next look-up waits, so that a slow ERP has finished. */
    settle: duration.default(30_000),
    maxInFlight: z.int().min(1).max(1_000).default(10),
    retrySchedule: z.array(retryWait).min(1).max(50).optional(),
    breaker: Breaker.prefault({}),
  })
  .transform((target) => ({ ...target, canFind: target.adapter.find !== undefined }));
export type ErpTarget = z.infer<typeof ErpTarget>;

/** Which events of a source go to an ERP target. `*` stands for any text in a type. */
export const Route = z.strictObject({
  source: z.string().min(1),
  types: z.array(typePattern).min(1).default(['*']),
  target: z.string().min(1),
});
export type Route = z.infer<typeof Route>;
