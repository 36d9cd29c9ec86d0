import { z } from 'zod';
import { AccessToken } from './access-token.ts';
import {
  nextCursor,
  EndpointView,
  EndpointWithSecret,
  ResponseSample,
  DeliveryView,
  DeliveryDetail,
  ReplayRunView,
  ReplayPlanView,
  EventView,
  ReconciliationView,
  AuditEntry,
} from './admin-views.ts';
import { StatsView } from './stats-views.ts';
import {
  BreakerView,
  DeadLetterGroup,
  QuarantinedDetail,
  QuarantinedView,
  RetryOutcome,
  SourceView,
} from './admin-views-inbound.ts';

/** The answer of each route; see admin-views.ts for what is in them. */
const done = z.object({ ok: z.literal(true), changed: z.boolean() });

export const ANSWERS = {
  endpoint: EndpointView,
  endpointWithSecret: EndpointWithSecret,
  endpoints: z.object({ endpoints: z.array(EndpointView), nextCursor }).meta({ id: 'Endpoints' }),
  removal: done
    .extend({
      deadLettered: z.int(),
      finished: z.boolean().describe('False: the sweeper dead-letters the rest.'),
    })
    .meta({ id: 'Removal' }),
  moved: done.extend({ endpoint: EndpointView }).meta({ id: 'EndpointMoved' }),
  endpointTest: z
    .object({
      testId: z.string(),
      ok: z.boolean(),
      resumed: z.boolean().describe('It was paused for failing too long, and this success has ended that.'),
      class: z.string(),
      code: z.string(),
      message: z.string(),
      remedy: z.string(),
      durationMs: z.number(),
      sample: ResponseSample.omit({ attempt: true }).nullable(),
    })
    .meta({ id: 'EndpointTest' }),
  deliveries: z
    .object({
      deliveries: z.array(DeliveryView),
      nextCursor,
      scanned: z.int().describe('Entries of the index that were looked at for this page, at most 1,000.'),
    })
    .meta({ id: 'Deliveries' }),
  delivery: DeliveryDetail,
  replay: z
    .object({ ok: z.literal(true), replayId: z.string(), delivery: z.string(), replayNotice: z.string() })
    .meta({ id: 'Replay' }),
  resolved: z.object({ ok: z.literal(true), delivery: DeliveryView }).meta({ id: 'Resolved' }),
  replayRun: ReplayRunView.extend({
    notes: z.array(z.object({ kind: z.enum(['refused', 'failed']), why: z.string(), delivery: z.string() })),
  }).meta({ id: 'ReplayRunDetail' }),
  replayRuns: z.object({ replays: z.array(ReplayRunView), nextCursor }).meta({ id: 'ReplayRuns' }),
  replayStarted: z
    .union([ReplayRunView, ReplayPlanView, z.object({ matched: z.literal(0), run: z.null() })])
    .meta({ id: 'ReplayStarted' }),
  replayMoved: ReplayRunView,
  event: EventView,
  stats: StatsView,
  reconciliation: z.object({ targets: z.array(ReconciliationView) }).meta({ id: 'Reconciliations' }),
  deadLetterGroups: z
    .object({ groups: z.array(DeadLetterGroup), nextCursor })
    .meta({ id: 'DeadLetterGroups' }),
  sources: z.object({ sources: z.array(SourceView) }).meta({ id: 'Sources' }),
  source: SourceView,
  quarantine: z.object({ entries: z.array(QuarantinedView), nextCursor }).meta({ id: 'Quarantine' }),
  quarantineEntry: QuarantinedDetail,
  quarantineRetry: z
    .object({
      ok: z.boolean().describe('False: it is still refused, and stays.'),
      dryRun: z.boolean(),
      id: z.string(),
      result: RetryOutcome,
    })
    .meta({ id: 'QuarantineRetry' }),
  breakers: z.object({ breakers: z.array(BreakerView) }).meta({ id: 'Breakers' }),
  breakerMoved: done.extend({ breaker: BreakerView }).meta({ id: 'BreakerMoved' }),
  audit: z.object({ entries: z.array(AuditEntry), nextCursor }).meta({ id: 'Audit' }),
  tokens: z.object({ tokens: z.array(AccessToken) }).meta({ id: 'Tokens' }),
  tokenCreated: AccessToken.extend({
    value: z.string().describe('The token itself, shown this once and stored nowhere.'),
  }).meta({ id: 'TokenCreated' }),
  tokenRevoked: done.extend({ token: AccessToken }).meta({ id: 'TokenRevoked' }),
} as const;
