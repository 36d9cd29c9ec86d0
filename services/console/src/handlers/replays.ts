import { destinationOf } from '@breakwater/contracts/admin-requests';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { changeBulkReplay, findReplayRun, startBulkReplay } from '@breakwater/core/bulk-replay';
import { pageOfReplayRuns } from '@breakwater/core/replay-pages';
import { planReplay, type ReplayPlan } from '@breakwater/core/replay-plan';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { sourcesOfOperator } from '@breakwater/core/source-report';
import { AppError } from '@breakwater/runtime/errors';
import { readReplayNotes } from '@breakwater/store/replay-runs';
import { type ApiDeps, type Call, defined, type Handlers } from '../call.ts';

type Names = 'listReplays' | 'createReplay' | 'getReplay' | 'cancelReplay' | 'resumeReplay';

export function replayHandlers(deps: ApiDeps): Pick<Handlers, Names> {
  const { redis, keys, config } = deps;
  const change =
    (action: 'cancel' | 'resume') =>
    async ({ operator, actor, params, body }: Call<'cancelReplay' | 'resumeReplay'>) => ({
      answer: await changeBulkReplay(deps, { operator, id: params.id, action, actor, reason: body.reason }),
    });
  return {
    async listReplays({ operator, query }) {
      const { runs, nextCursor } = await pageOfReplayRuns(redis, keys, operator, defined(query));
      return { answer: { replays: runs, nextCursor } };
    },
    async createReplay({ operator, actor, body }) {
      const selection = selectionOf(config, operator, body);
      const pace = { perSecond: body.perSecond, destinationPerSecond: body.destinationPerSecond };
      const acknowledged = body.acknowledgeDuplicates;
      if (body.dryRun)
        return {
          answer: viewOfPlan(await planReplay(redis, keys, selection, acknowledged, pace)),
          status: 200,
        };
      const run = await startBulkReplay(deps, {
        ...pace,
        selection,
        filter: inWords(body),
        mode: body.mode,
        acknowledged,
        reason: body.reason,
        actor,
        stopAfter: body.stopAfter,
      });
      return run ? { answer: run } : { answer: { matched: 0, run: null }, status: 200 };
    },
    async getReplay({ operator, params }) {
      const run = await findReplayRun(deps, operator, params.id);
      return { answer: { ...run, notes: await readReplayNotes(redis, keys, params.id) } };
    },
    cancelReplay: change('cancel'),
    resumeReplay: change('resume'),
  };
}

type Wanted = Call<'createReplay'>['body'];

/** Members of the request that choose deliveries, beside the status. */
const FILTERS = [
  'endpoint',
  'target',
  'source',
  'type',
  'event',
  'class',
  'reasonIs',
  'since',
  'until',
] as const;

function selectionOf(config: ApiDeps['config'], operator: string, body: Wanted) {
  const filtered = FILTERS.some((name) => body[name] !== undefined);
  if (filtered === body.all)
    throw new AppError(
      'request_invalid',
      body.all
        ? 'Give filters, or all, not both.'
        : `Choose what to replay: ${FILTERS.join(', ')}, or "all": true for everything.`,
    );
  const { status, source, type, since, until } = body;
  return defined({
    operator,
    status,
    destination: destinationOf(body),
    reason: body.reasonIs,
    failureClass: body.class,
    source,
    type,
    eventId: body.event,
    since,
    until,
    sources: [RESERVED_SOURCE, ...sourcesOfOperator(config, operator).map(([name]) => name)],
  });
}

/** For people who look at the run later. */
const inWords = (body: Wanted): string =>
  [
    `status ${body.status}`,
    ...FILTERS.flatMap((name) => (body[name] === undefined ? [] : [`${name} ${body[name]}`])),
  ].join(', ');

function viewOfPlan({ matched, deliveries, refused, byDestination, byReason, estimateMs }: ReplayPlan) {
  const refusals: Record<string, number> = {};
  for (const { error } of refused) refusals[error.code] = (refusals[error.code] ?? 0) + 1;
  return {
    dryRun: true as const,
    matched,
    deliveries: deliveries.length,
    refused: refusals,
    byDestination: Object.fromEntries(byDestination),
    byReason: Object.fromEntries(byReason),
    estimateMs,
    replayNotice: REPLAY_NOTICE,
  };
}
