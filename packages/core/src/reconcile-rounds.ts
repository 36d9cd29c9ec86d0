import type { DeepState, ReconciliationSummary } from '@breakwater/contracts/reconciliation';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { Logger } from '@breakwater/runtime/logger';
import { redisNowMs } from '@breakwater/store/clock';
import { documentsBegun, expectReconciliation, storeReconciliation } from '@breakwater/store/reconciliations';
import type { Transitions } from '@breakwater/store/transitions';
import { reconcile, type ReconcileDeps } from './reconcile.ts';
import { type ErpProgress, NO_PROGRESS, readProgress, writeProgress } from './reconcile-progress.ts';
import { latestReconciliation, readDeepPart, readDeepTry, Tally } from './reconciliation-results.ts';

export interface RoundDeps extends ReconcileDeps {
  readonly transitions: Transitions;
  readonly logger: Logger;
}

export interface Lease {
  readonly name: string;
  readonly identity: string;
}

/** One of the things that are done again and again for an ERP target. */
export interface Round {
  /** Of its lease. */
  readonly name: string;
  readonly isDue: () => Promise<boolean>;
  readonly run: (lease: Lease, signal: AbortSignal) => Promise<void>;
}

/** Compares events with postings by our own records, and puts beside it what the ERP told last. */
export function recordsRound(deps: RoundDeps, target: ReadyErpTarget): Round {
  const settings = deps.config.reconciliation;
  return {
    name: `reconciliation:${target.name}`,
    async isDue() {
      await expectReconciliation(deps.redis, deps.keys, target.name, await redisNowMs(deps.redis));
      const latest = await latestReconciliation(deps, target.name, settings);
      return latest === undefined || latest.ageMs >= settings.every;
    },
    async run(lease, signal) {
      const { redis, keys } = deps;
      const startedAt = await redisNowMs(redis);
      const range = { since: startedAt - settings.window, until: startedAt };
      const former = await readDeepPart(deps, target.name);
      const tally = new Tally(former);
      const sums = { events: 0, deliveries: 0, open: 0 };
      for await (const page of reconcile(deps, { target, ...range, deep: false, signal })) {
        for (const finding of page.findings) {
          tally.add(finding);
          if (finding.why === 'not_armed') await armAgain(deps, finding.delivery ?? '');
        }
        for (const name of ['events', 'deliveries', 'open'] as const) sums[name] += page[name];
      }
      const asked = await readDeepTry(deps, target.name);
      const facts = { target: target.name, startedAt, ...range, ...sums };
      const tookMs = (await redisNowMs(redis)) - startedAt;
      const { summary, findings } = tally.result(
        { ...facts, tookMs, deep: asked?.state ?? { kind: 'off' } },
        await readDeepPart(deps, target.name), // it may have been told anew meanwhile
        settings,
      );
      const parts = { summary: JSON.stringify(summary), findings: JSON.stringify(findings) };
      if (await storeReconciliation(redis, keys, target.name, lease, parts)) report(deps.logger, summary);
    },
  };
}

/** Compares events with the ERP's own documents, which takes as long as the ERP does. What it told stands until the next time. */
export function erpRound(deps: RoundDeps, target: ReadyErpTarget): Round {
  const settings = deps.config.reconciliation;
  return {
    name: `reconciliation-erp:${target.name}`,
    async isDue() {
      const now = await redisNowMs(deps.redis);
      const told = (await readDeepPart(deps, target.name))?.at ?? 0;
      const asked = (await readDeepTry(deps, target.name))?.at ?? 0; // one that did not answer is asked again soon
      return now - told >= settings.deepEvery && now - asked >= settings.every;
    },
    async run(lease, signal) {
      const { redis, keys, logger } = deps;
      const triedAt = await redisNowMs(redis);
      const begun = await readProgress(deps, target, triedAt, settings.window);
      const at = begun?.at ?? triedAt;
      const { since, until } = begun?.cursor ?? { since: at - settings.window, until: at };
      const tally = new Tally(undefined, begun?.told);
      let state: DeepState = begun?.state ?? { kind: 'off' };
      let cursor = begun?.cursor;
      const keep = keepingProgress(deps, target, lease);
      for await (const page of reconcile(deps, { target, since, until, deep: true, cursor, signal })) {
        state = addDeep(state, page.deep);
        if (state.kind === 'skipped') break; // the next try goes on behind the pages that were answered
        for (const finding of page.findings) tally.add(finding);
        tally.settled.push(...page.settled);
        cursor = page.cursor;
        if (cursor) await keep({ at, cursor, state, told: tally.deepPart(at, 0) });
      }
      const tookMs = (await redisNowMs(redis)) - at;
      const parts = {
        asked: JSON.stringify({ at: triedAt, state }),
        ...(state.kind !== 'skipped' && { progress: NO_PROGRESS }),
        ...(state.kind === 'done' && { deep: JSON.stringify(tally.deepPart(at, tookMs)) }),
      };
      if (!(await storeReconciliation(redis, keys, target.name, lease, parts))) return;
      if (state.kind === 'skipped')
        logger.warn(
          { target: target.name, reason: state.reason },
          "the ERP's own documents could not be compared",
        );
    },
  };
}

/** A page of look-ups takes seconds and one of a list milliseconds: so long is what an interruption costs, or one page. */
const KEEP_EVERY_MS = 5_000;

/** Writes how far a round has come, for whoever goes on with it. */
function keepingProgress(
  { redis, keys }: RoundDeps,
  target: ReadyErpTarget,
  lease: Lease,
): (progress: ErpProgress) => Promise<void> {
  let keptAt = Number.NEGATIVE_INFINITY;
  return async (progress) => {
    if (performance.now() - keptAt < KEEP_EVERY_MS) return;
    keptAt = performance.now();
    const { run } = progress.cursor;
    if (run !== undefined) await documentsBegun(redis, keys, run); // what was listed stays as long as the round goes on
    await storeReconciliation(redis, keys, target.name, lease, { progress: writeProgress(progress) });
  };
}

/** The record is right and nobody would come back to it: the one fault that a reconciliation mends itself. */
async function armAgain({ transitions, logger }: RoundDeps, delivery: string): Promise<void> {
  if (await transitions.armAgain(delivery))
    logger.error(
      { delivery },
      'a delivery was not armed: nobody would have come back to it. It is armed again',
    );
}

/** Adds up what the pages say of the ERP: once skipped, skipped. */
export function addDeep(sum: DeepState, page: DeepState): DeepState {
  if (sum.kind === 'skipped' || page.kind !== 'done' || sum.kind === 'off')
    return sum.kind === 'skipped' ? sum : page;
  return { kind: 'done', documents: sum.documents + page.documents, asked: sum.asked + page.asked };
}

function report(logger: Logger, summary: ReconciliationSummary): void {
  const { target, tookMs, events, deliveries, counts, deep } = summary;
  const facts = { target, durationMs: tookMs, events, deliveries, ...counts, deep: deep.kind };
  const { missing, duplicate, unknown, foreign } = counts;
  if (missing + duplicate + unknown + foreign > 0)
    logger.error(facts, 'reconciliation found what does not agree: `breakwater reconcile` names it');
  else logger.debug(facts, 'reconciliation');
}
