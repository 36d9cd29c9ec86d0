import { z } from 'zod';
import { NewToken } from './access-token.ts';
import { DELIVERY_STATUSES } from './delivery.ts';
import { LATEST_MS } from './duration.ts';
import { EndpointPatch, NewEndpointSettings, OVERLAP_MAX_MS } from './endpoint.ts';
import { FAILURE_CLASSES } from './failure-class.ts';
import { HISTORY_RANGE_NAMES } from './history.ts';
import { erpDestination } from './ids.ts';
import { operatorName } from './operator.ts';
import { REPLAYABLE_STATUSES } from './replay-run.ts';
import { typePattern } from './type-pattern.ts';

/** Ids in paths: longer ones are no ids of ours, whatever they hold. */
const id = z.string().min(1).max(200);
/** Of a provider's event: its own free text. */
const eventId = z.string().min(1).max(512);
const name = z.string().min(1).max(63);
const reason = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .describe('Why; it goes into the audit log for a person who asks later.');
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

const operator = operatorName
  .optional()
  .describe('For a token of every operator: on whose behalf; `default` when left out.');
const limit = z.coerce.number().int().min(1).max(200).default(50);
const cursor = z
  .string()
  .max(1_000)
  .optional()
  .describe('`nextCursor` of the page before, with the same filters.');

const TIME = 'a time with its zone such as 2026-01-31T12:00:00Z, or ms since the epoch';

/** `2026-01-31T12:00Z`, or ms since the epoch. */
const time = z
  .union(
    [
      z.int().min(0).max(LATEST_MS), // in a body; a query holds text alone
      z
        .string()
        .regex(/^\d{1,15}$/)
        .transform(Number),
      z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
    ],
    { error: `expected ${TIME}` },
  )
  .describe(`${TIME[0]?.toUpperCase()}${TIME.slice(1)}.`);

const failureClasses = [...Object.keys(FAILURE_CLASSES), 'interrupted'];

const deliveryFilter = {
  endpoint: id.optional(),
  target: name.optional().describe('Name of an ERP target.'),
  source: name.optional(),
  type: typePattern.optional().describe('`*` stands for any text.'),
  event: eventId.optional().describe('Event id.'),
  class: z.enum(failureClasses).optional().describe('Class of the latest attempt, where that failed.'),
};

/** A delivery has one destination. */
export const destinationOf = ({
  endpoint,
  target,
}: {
  readonly endpoint?: string | undefined;
  readonly target?: string | undefined;
}): string | undefined => endpoint ?? (target === undefined ? undefined : erpDestination(target));

const oneDestination = (value: {
  readonly endpoint?: string | undefined;
  readonly target?: string | undefined;
}): boolean => value.endpoint === undefined || value.target === undefined;
const ONE_DESTINATION = 'give an endpoint or a target, not both';

export const QUERIES = {
  /** Whose things; every route has it. */
  plain: z.strictObject({ operator }),
  page: z.strictObject({ operator, limit, cursor }),
  change: z.strictObject({ operator, reason: reason.optional() }),
  deliveries: z
    .strictObject({
      operator,
      status: z.enum(DELIVERY_STATUSES).optional(),
      ...deliveryFilter,
      since: time.optional(),
      until: time.optional(),
      limit,
      cursor,
    })
    .refine(oneDestination, ONE_DESTINATION),
  deadLetterGroups: z
    .strictObject({ operator, endpoint: id.optional(), target: name.optional(), limit, cursor })
    .refine(oneDestination, ONE_DESTINATION),
  event: z.strictObject({ operator, body: flag.default(false) }),
  stats: z.strictObject({
    operator,
    history: z
      .enum(HISTORY_RANGE_NAMES)
      .optional()
      .describe('For a token of every operator: the history of so long, at most 360 points.'),
  }),
  sources: z.strictObject({
    operator,
    unusedForMs: z.coerce
      .number()
      .int()
      .min(0)
      .max(366 * 86_400_000)
      .default(7 * 86_400_000)
      .describe('How long a secret must be unused to be called removable; a week when left out.'),
  }),
  quarantine: z.strictObject({
    operator,
    source: name.optional().describe('Only of this source.'),
    limit,
    cursor,
  }),
  quarantineEntry: z.strictObject({
    operator,
    body: flag.default(false).describe('Show the body, with secrets masked. It may hold personal data.'),
  }),
  breakers: z.strictObject({ operator, target: name.optional().describe('Only this ERP target.') }),
  reconciliation: z.strictObject({
    operator: operatorName
      .optional()
      .describe('Findings of this operator; of all, for a token of every operator, when left out.'),
    target: name.optional().describe('Only this ERP target.'),
  }),
  audit: z.strictObject({
    operator: operatorName
      .optional()
      .describe('Entries of this operator; of all, for a token of every operator, when left out.'),
    action: z.string().min(1).max(60).optional().describe('`*` at the end stands for any text.'),
    limit,
    cursor,
  }),
} as const;

/** Where bodies are empty: an unknown member would be a misunderstanding. */
const nothing = z.strictObject({}).default({});

export const BODIES = {
  none: nothing,
  reason: z.strictObject({ reason }).meta({ id: 'WithReason' }),
  resolve: z
    .strictObject({
      reason,
      posted: z
        .boolean()
        .default(false)
        .describe(
          'The ERP holds a document under its reference, made by hand: count it. May be said of a resolved one, too.',
        ),
    })
    .meta({ id: 'ResolveRequest' }),
  newEndpoint: NewEndpointSettings.meta({ id: 'NewEndpoint' }),
  endpointPatch: EndpointPatch.meta({ id: 'EndpointPatch' }),
  rotation: z
    .strictObject({
      overlapMs: z
        .int()
        .min(0)
        .max(OVERLAP_MAX_MS)
        .default(86_400_000)
        .describe('So long the former secret signs as well; a day when left out.'),
      secret: z.string().optional().describe('`whsec_...`; made when it is left out.'),
    })
    .default({ overlapMs: 86_400_000 })
    .meta({ id: 'Rotation' }),
  replay: z
    .strictObject({
      reason,
      mode: z.enum(['single', 'restart']).default('single'),
      acknowledgeDuplicates: z
        .boolean()
        .default(false)
        .describe('The receiver already had this: it durably dedupes. Needed for what was sent.'),
    })
    .meta({ id: 'ReplayRequest' }),
  bulkReplay: z
    .strictObject({
      reason,
      status: z.enum(REPLAYABLE_STATUSES).default('dead_letter'),
      ...deliveryFilter,
      reasonIs: z.string().max(60).optional().describe('Why they were given up, such as exhausted.'),
      since: time.optional().describe('They took the status at or after this time.'),
      until: time.optional(),
      all: z.boolean().default(false).describe('Every delivery of the status, where no filter is given.'),
      mode: z.enum(['single', 'restart']).default('single'),
      acknowledgeDuplicates: z.boolean().default(false),
      perSecond: z.number().min(0.01).max(1_000).default(20),
      destinationPerSecond: z.number().min(0.01).max(1_000).optional(),
      stopAfter: z.int().min(0).max(100_000).default(50).describe('Failures in a row; 0 never.'),
      dryRun: z.boolean().default(false).describe('Say what would happen, and change nothing.'),
    })
    .refine(oneDestination, ONE_DESTINATION)
    .meta({ id: 'BulkReplayRequest' }),
  quarantineRetry: z
    .strictObject({
      reason,
      dryRun: z.boolean().default(false).describe('Say what would come of it, and change nothing.'),
    })
    .meta({ id: 'QuarantineRetryRequest' }),
  newToken: NewToken,
} as const;

export const PARAMS = { id, source: name, target: name, eventId } as const;
