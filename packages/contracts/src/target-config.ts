import { z } from 'zod';
import { duration, formatDuration, retryWait, timeout } from './duration.ts';
import { ErpAuth } from './erp-auth-config.ts';
import { expression } from './expression-syntax.ts';
import { HttpList } from './http-list-config.ts';
import { pointer } from './source-parts.ts';
import { TrytonAdapter } from './tryton-config.ts';
import { typePattern } from './type-pattern.ts';

/** Status codes as numbers or classes: `201`, `2xx`. */
const statuses = z.array(z.union([z.int().min(100).max(599), z.enum(['2xx', '4xx', '5xx'])])).default([]);

/**
 * A request that only reads. An API of one URL (JSON-RPC) is asked by POST, with a body. `body` is JSONata over `event`,
 * `document`, `reference` and `secrets`.
 */
const reading = {
  method: z.enum(['GET', 'POST']).default('GET'),
  path: expression,
  body: expression.optional(),
  timeout: timeout.default(10_000),
};
const bodyNeedsPost = <T extends z.ZodType<{ method: string; body?: string | undefined }>>(schema: T): T =>
  schema.refine(({ method, body }) => body === undefined || method === 'POST', {
    path: ['method'],
    error: 'expected POST where there is a body',
  });

/** The `http` adapter: any JSON API, described by data. Expressions are JSONata over `event`, `document`, `reference`. */
export const HttpAdapter = z.strictObject({
  kind: z.literal('http'),
  baseUrl: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  auth: ErpAuth.optional(),
  /** For APIs that take credentials in the body: `secrets.password` in the expressions of bodies, and nowhere else. */
  secrets: z.record(z.string(), z.string()).default({}),
  /** Header that carries the reference where the ERP dedupes by it. */
  idempotencyHeader: z.string().optional(),
  post: z.strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
    path: expression,
    /** What is sent; the document alone where it is left out. As `find.body`. */
    body: expression.optional(),
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
    /**
     * For APIs whose status does not say it all: `posted`, `duplicate`, `rejected`, `failed` or `unknown`, from `answer`,
     * `status` and `headers`. Nothing: `answers` decides.
     */
    meaning: expression.optional(),
    /** Name of the document at the ERP, from its answer (`answer`, `status`, `headers`). */
    receipt: expression.optional(),
  }),
  find: bodyNeedsPost(
    z.strictObject({
      ...reading,
      /** Statuses whose answer `hits` can read; any other one proves nothing. */
      statuses: statuses.default(['2xx']),
      /** Array of hits in the answer (`answer`, `status`, `headers`). */
      hits: expression,
      receipt: expression.optional(),
      /** True when `hit` belongs to this event: guards against a reference that two events share. */
      sameEvent: expression.optional(),
    }),
  ).optional(),
  /** The ERP's own number of documents that carry our references. */
  count: bodyNeedsPost(z.strictObject({ ...reading, value: expression })).optional(),
  list: HttpList.optional(),
});
export type HttpAdapter = z.infer<typeof HttpAdapter>;

/**
 * How long one attempt may take, ms: a look-up, read once more where it fails, then the post; where a token is needed, one
 * is fetched at first and one more when it is refused. Lease and shutdown must be longer.
 */
export function longestAttemptMs(adapter: HttpAdapter | TrytonAdapter): number {
  const { find, post } = adapter;
  const auth = adapter.kind === 'http' ? adapter.auth : undefined;
  return (find ? 2 * find.timeout : 0) + post.timeout + (auth?.kind === 'oauth2' ? 2 * auth.timeout : 0);
}

/** A process that dies holds its document and its serial key for the length of an attempt, so that has an end. */
const ATTEMPT_MAX_MS = 900_000;

const Breaker = z.strictObject({
  /** Opens after so many failures or unknowns in a row ... */
  consecutive: z.int().min(1).default(5),
  /** ... or when more than `percentage` of the last `window` results were failures, however far apart they came. */
  window: z.int().min(2).max(200).default(20),
  percentage: z.number().min(1).max(99).default(50),
  backoff: z
    .strictObject({ from: duration.default(5_000), to: duration.default(300_000) })
    .refine(
      ({ from, to }) => from >= 100 && from <= to,
      'expected from of at least 100ms, and to no shorter than from',
    )
    .prefault({}),
});

export const ErpTarget = z
  .strictObject({
    /** Label of its alerts: who is paged. */
    owner: z.string().min(1),
    adapter: z.discriminatedUnion('kind', [HttpAdapter, TrytonAdapter]),
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
  .superRefine(({ adapter }, context) => {
    const longest = longestAttemptMs(adapter);
    if (longest <= ATTEMPT_MAX_MS) return;
    context.addIssue({
      code: 'custom',
      path: ['adapter'],
      message: `an attempt may take ${formatDuration(longest)} (twice find.timeout, post.timeout, twice auth.timeout), and at most ${formatDuration(ATTEMPT_MAX_MS)} is allowed: a process that dies holds its document and its serial key that long`,
    });
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
