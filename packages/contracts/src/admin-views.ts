import { z } from 'zod';
import { DELIVERY_STATUSES } from './delivery.ts';
import { FINDING_KINDS } from './reconciliation.ts';
import { REPLAY_RUN_STATES } from './replay-run.ts';

/** What the admin API answers with. Times are ms since the epoch; a name ending in Ms is a duration. */

export const time = z.int().describe('ms since the epoch');
export const nextCursor = z
  .string()
  .nullable()
  .describe(
    'For the next page; null on the last one. A page may be short, or empty, and still not be the last.',
  );

export const ApiError = z
  .object({
    ok: z.literal(false),
    error: z.object({
      code: z.string().describe('Stable; see docs/api.md.'),
      message: z.string(),
      details: z.record(z.string(), z.unknown()),
      requestId: z.string().describe('Also in the header x-request-id and in the log.'),
    }),
  })
  .meta({ id: 'Error' });

const Pause = {
  paused: z.boolean(),
  pausedAt: time.nullable(),
  pausedBy: z.string().nullable(),
  pausedReason: z.string().nullable(),
  pausedAutomatically: z.boolean(),
  failingSince: time.nullable(),
};

const RecentAnswers = z
  .object({
    attempts: z.int().describe('With a result, replays included.'),
    sent: z.int(),
    successRate: z.number().min(0).max(1).nullable().describe('sent / attempts; null where there was none.'),
  })
  .meta({
    id: 'RecentAnswers',
    description: 'What a destination answered in this hour and the 23 before it.',
  });

export const EndpointView = z
  .object({
    id: z.string(),
    operator: z.string(),
    version: z.int().describe('Raised by every change; its ETag is `"<version>"`.'),
    url: z.string(),
    types: z.array(z.string()),
    sources: z.array(z.string()),
    description: z.string(),
    body: z.enum(['envelope', 'raw']),
    timeoutMs: z.int(),
    maxInFlight: z.int(),
    rateLimit: z.object({ perSecond: z.number(), burst: z.int() }).nullable(),
    scheduleMs: z.array(z.int()).nullable(),
    reference: z.enum(['event', 'source']),
    headers: z.record(z.string(), z.string()).describe('Names; the values are shown nowhere.'),
    secrets: z.array(z.object({ createdAt: time, expiresAt: time.nullable(), sealedWith: z.string() })),
    createdAt: time,
    updatedAt: time.optional(),
    recent: RecentAnswers,
    ...Pause,
  })
  .meta({ id: 'Endpoint' });

export const EndpointWithSecret = EndpointView.extend({
  secret: z.string().describe('The signing secret, shown this once.'),
}).meta({ id: 'EndpointWithSecret' });

export const ResponseSample = z.object({
  attempt: z.int(),
  contentType: z.string(),
  text: z.string().describe('The first KiB, with secrets masked. Untrusted: never take it for markup.'),
  truncated: z.boolean(),
});

const AttemptView = z
  .object({
    number: z.int(),
    trigger: z.enum(['schedule', 'replay']),
    outcome: z.enum(['sent', 'failed', 'interrupted']),
    class: z.string(),
    code: z.string(),
    startedAt: time,
    durationMs: z.int(),
    lateMs: z.int(),
    lateResult: z.object({ at: time, class: z.string(), code: z.string() }).optional(),
    remedy: z.string().describe('What to do about it; empty where nothing is to be done.'),
  })
  .meta({ id: 'Attempt' });

export const DeliveryView = z
  .object({
    id: z.string(),
    operator: z.string(),
    event: z.object({ key: z.string(), source: z.string(), id: z.string(), type: z.string() }),
    destination: z.object({ kind: z.enum(['endpoint', 'erp']), id: z.string(), name: z.string() }),
    reference: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    statusAt: time,
    createdAt: time,
    nextAttemptAt: time.nullable(),
    scheduleMade: z.int(),
    replaysMade: z.int(),
    reason: z.string().nullable(),
    failureClass: z.string().nullable(),
    inFlight: z.boolean(),
    lease: z
      .object({ attempt: z.int(), trigger: z.enum(['schedule', 'replay']), startedAt: time, until: time })
      .nullable(),
    fence: z.int(),
    openReplay: z.string().nullable(),
    doubt: z.boolean(),
    receipt: z.string().nullable(),
    attempts: z.array(AttemptView),
  })
  .meta({ id: 'Delivery' });

export const DeliveryDetail = DeliveryView.extend({
  sample: ResponseSample.nullable().describe('Of the last answer; kept for 7 days.'),
  replayNotice: z.string(),
}).meta({ id: 'DeliveryDetail' });

export const ReplayRunView = z
  .object({
    id: z.string(),
    operator: z.string(),
    actor: z.string(),
    reason: z.string(),
    filter: z.string(),
    mode: z.enum(['single', 'restart']),
    state: z.enum(REPLAY_RUN_STATES),
    error: z.string(),
    perSecond: z.number(),
    destinationPerSecond: z.number().nullable(),
    matched: z.int(),
    remaining: z.int(),
    requested: z.int(),
    sent: z.int(),
    failed: z.int(),
    open: z.int(),
    refused: z.record(z.string(), z.int()),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'ReplayRun' });

export const ReplayPlanView = z
  .object({
    dryRun: z.literal(true),
    matched: z.int(),
    deliveries: z.int().describe('How many would be replayed.'),
    refused: z.record(z.string(), z.int()).describe('Error code -> how many.'),
    byDestination: z.record(z.string(), z.int()),
    byReason: z.record(z.string(), z.int()),
    estimateMs: z.int(),
    replayNotice: z.string(),
  })
  .meta({ id: 'ReplayPlan' });

export const EventView = z
  .object({
    key: z.string(),
    operator: z.string(),
    source: z.string(),
    eventId: z.string(),
    type: z.string(),
    entity: z.string(),
    contentType: z.string(),
    receivedAt: time,
    occurredAt: time.optional(),
    bodyBytes: z.int(),
    unrouted: z.boolean(),
    body: z
      .object({ encoding: z.enum(['utf8', 'base64']), text: z.string() })
      .optional()
      .describe('Only with ?body=true: it may hold personal data.'),
    deliveries: z.array(DeliveryView).describe('The first 100.'),
    erpDocuments: z
      .array(
        z.object({
          target: z.string(),
          delivery: z.string(),
          reference: z.string(),
          receipt: z.string().nullable().describe("The ERP's name for the document, where it told us."),
        }),
      )
      .describe('Deliveries to ERP targets that are known to have made a document.'),
  })
  .meta({ id: 'EventDetail' });

const ReconciliationFinding = z
  .object({
    kind: z.enum(FINDING_KINDS),
    why: z.string(),
    target: z.string(),
    operator: z.string().optional(),
    source: z.string().optional(),
    eventId: z.string().optional(),
    delivery: z.string().optional(),
    status: z.string().optional(),
    reference: z.string().optional(),
    receipts: z.array(z.string()),
    at: time,
    detail: z.string(),
    next: z.string().describe('What to do next.'),
    by: z.enum(['records', 'erp']),
  })
  .meta({ id: 'ReconciliationFinding' });

export const ReconciliationView = z
  .object({
    target: z.string(),
    startedAt: time.nullable().describe('Null: none has ended yet.'),
    since: time.nullable(),
    until: time.nullable(),
    deepAt: time.nullable().describe('When the ERP itself was compared last.'),
    stale: z.boolean().describe('Too old to be believed.'),
    counts: z
      .record(z.enum(FINDING_KINDS), z.int())
      .describe('Of the findings that are kept, for an operator.'),
    complete: z.boolean().describe('False: there were more findings than are kept (1,000 of a target).'),
    findings: z.array(ReconciliationFinding).describe('The first 200.'),
    fleet: z
      .object({
        events: z.int(),
        deliveries: z.int(),
        open: z.int(),
        tookMs: z.number(),
        deep: z
          .object({ kind: z.enum(['off', 'done', 'skipped']), reason: z.string().optional() })
          .describe('Whether this run compared the ERP too, and why not.'),
      })
      .nullable()
      .describe('What was looked at, of all operators; null for one operator.'),
  })
  .meta({ id: 'Reconciliation' });

export const AuditEntry = z
  .object({
    id: z.string(),
    at: time,
    action: z.string(),
    operator: z.string(),
    actor: z.string(),
    reason: z.string().nullable(),
    before: z.unknown().describe('Only what differs, without secrets.'),
    after: z.unknown(),
    facts: z
      .record(z.string(), z.string())
      .describe('What else the entry says: destination, delivery, replay ...'),
  })
  .meta({ id: 'AuditEntry' });
