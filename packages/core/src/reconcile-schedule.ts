import type { DeepState, ReconciliationSummary } from '@breakwater/contracts/reconciliation';
import { newId } from '@breakwater/contracts/ids';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import { startLoop } from '@breakwater/runtime/poll';
import { redisNowMs } from '@breakwater/store/clock';
import { holdLease, releaseLease } from '@breakwater/store/leases';
import { storeReconciliation } from '@breakwater/store/reconciliations';
import type { Transitions } from '@breakwater/store/transitions';
import { reconcile, type ReconcileDeps } from './reconcile.ts';
import { latestReconciliation, readDeepPart, Tally } from './reconciliation-results.ts';

export interface ScheduleDeps extends ReconcileDeps {
  readonly targets: ReadonlyMap<string, ReadyErpTarget>;
  readonly transitions: Transitions;
  readonly logger: Logger;
}

/** How often a replica looks whether a run is due: one short read per target. */
const LOOK_EVERY_MS = 1_000;
/** A replica that dies in a run is followed by another after so long. */
const LEASE_MS = 30_000;
/** A run that failed is not repeated at once: what stopped it lasts. */
const AFTER_FAULT_MS = 15_000;

/**
 * Reconciles every ERP target again and again, and keeps what it found. Runs in every console replica; a lease in Redis
 * lets one of them at a target at a time. Returns a function that stops it.
 */
export function startReconciliation(deps: ScheduleDeps): () => Promise<void> {
  const { every } = deps.config.reconciliation;
  if (every === 0) return async () => undefined;
  const identity = newId();
  const notBefore = new Map<string, number>();
  const stopping = new AbortController();
  const stop = startLoop(
    Math.min(LOOK_EVERY_MS, every),
    async (signal) => {
      for (const target of deps.targets.values()) {
        if (signal.aborted || performance.now() < (notBefore.get(target.name) ?? 0)) continue;
        try {
          if (await isDue(deps, target.name)) await runLeased(deps, target, identity, stopping.signal);
        } catch (error) {
          if (stopping.signal.aborted) return;
          notBefore.set(target.name, performance.now() + AFTER_FAULT_MS);
          deps.logger.warn({ target: target.name, reason: messageOf(error) }, 'a reconciliation was cut off');
        }
      }
    },
    (error) => deps.logger.warn({ reason: messageOf(error) }, 'reconciliation failed'),
  );
  return async () => {
    stopping.abort(new AppError('unavailable', 'The process is stopping.'));
    await stop();
  };
}

async function isDue(deps: ScheduleDeps, target: string): Promise<boolean> {
  const latest = await latestReconciliation(deps, target, deps.config.reconciliation);
  return latest === undefined || latest.ageMs >= deps.config.reconciliation.every;
}

/** Runs while the lease is held: whoever loses it stops, and what it found is not kept. */
async function runLeased(
  deps: ScheduleDeps,
  target: ReadyErpTarget,
  identity: string,
  stopping: AbortSignal,
): Promise<void> {
  const { redis, keys } = deps;
  const name = `reconciliation:${target.name}`;
  const hold = (): Promise<boolean> => holdLease(redis, keys, name, identity, LEASE_MS);
  if (!(await hold())) return;
  const lost = new AbortController();
  const stopHolding = startLoop(
    LEASE_MS / 3,
    async () => {
      if (!(await hold())) lost.abort(new AppError('unavailable', 'Another replica has taken the run over.'));
    },
    () => undefined, // Redis is away: the lease lapses, and the next command of the run fails
  );
  try {
    if (!(await isDue(deps, target.name))) return; // another replica was faster
    await runOnce(deps, target, { name, identity }, AbortSignal.any([stopping, lost.signal]));
  } finally {
    await stopHolding();
    await releaseLease(redis, keys, name, identity).catch(() => undefined); // it lapses
  }
}

async function runOnce(
  deps: ScheduleDeps,
  target: ReadyErpTarget,
  lease: { readonly name: string; readonly identity: string },
  signal: AbortSignal,
): Promise<void> {
  const { redis, keys, logger, config } = deps;
  const settings = config.reconciliation;
  const startedAt = await redisNowMs(redis);
  const former = await readDeepPart(deps, target.name);
  const deep = settings.deepEvery > 0 && startedAt - (former?.at ?? 0) >= settings.deepEvery;
  const range = { since: startedAt - settings.window, until: startedAt };
  const tally = new Tally(former, deep);
  const sums = { events: 0, deliveries: 0, open: 0 };
  let state: DeepState = { kind: 'off' };
  for await (const page of reconcile(deps, { target, ...range, deep, signal })) {
    for (const finding of page.findings) {
      tally.add(finding);
      if (finding.why === 'not_armed') await armAgain(deps, finding.delivery ?? '');
    }
    for (const name of ['events', 'deliveries', 'open'] as const) sums[name] += page[name];
    tally.settled.push(...page.settled);
    state = addDeep(state, page.deep);
  }
  const facts = { target: target.name, startedAt, ...range, ...sums };
  const tookMs = (await redisNowMs(redis)) - startedAt;
  const { summary, findings, deepPart } = tally.result({ ...facts, tookMs }, state, settings);
  const kept = await storeReconciliation(redis, keys, target.name, lease, {
    summary: JSON.stringify(summary),
    findings: JSON.stringify(findings),
    ...(deepPart && { deep: JSON.stringify(deepPart) }),
  });
  if (kept) report(logger, summary);
}

/** The record is right and nobody would come back to it: the one fault that a reconciliation mends itself. */
async function armAgain({ transitions, logger }: ScheduleDeps, delivery: string): Promise<void> {
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
  if (deep.kind === 'skipped')
    logger.warn({ target, reason: deep.reason }, "the ERP's own documents could not be compared");
  if (missing + duplicate + unknown + foreign > 0)
    logger.error(facts, 'reconciliation found what does not agree: `breakwater reconcile` names it');
  else logger.debug(facts, 'reconciliation');
}
