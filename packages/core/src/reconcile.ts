import type { DeepState, Finding } from '@breakwater/contracts/reconciliation';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { erpDestination, newId } from '@breakwater/contracts/ids';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { QueueMaintenance } from '@breakwater/queue/maintenance';
import { AppError } from '@breakwater/runtime/errors';
import { redisNowMs } from '@breakwater/store/clock';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { readWalkPage, type Suspect } from '@breakwater/store/reconcile-page';
import { beginDocuments, documentsBegun, forgetDocuments } from '@breakwater/store/reconciliations';
import { type Asker, createAsker } from './reconcile-ask.ts';
import { classify, type Judgement } from './reconcile-classify.ts';
import type { ReconcileCursor } from './reconcile-cursor.ts';
import { compareDocuments } from './reconcile-documents.ts';
import { failedEvents } from './reconcile-events.ts';
import { type ReconcileScope, scopeOf } from './reconcile-scope.ts';

export interface ReconcileDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly config: BreakwaterConfig;
  readonly maintenance: Pick<QueueMaintenance, 'eachFailedEvent'>;
}

export interface ReconcileInput {
  readonly target: ReadyErpTarget;
  /** Of the events' records, and of the documents, ms. */
  readonly since: number;
  readonly until: number;
  /** Compare with the ERP's own documents, too. */
  readonly deep: boolean;
  readonly cursor?: ReconcileCursor | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Findings of one page, and how to go on behind it. */
export interface ReconcilePage {
  readonly findings: readonly Finding[];
  /** Looked at in this page. */
  readonly events: number;
  readonly deliveries: number;
  /** Deliveries of this page that are open and not overdue. */
  readonly open: number;
  /** `documents` and `asked` are this page's. */
  readonly deep: DeepState;
  /** Deliveries whose two creating answers the ERP has explained: it holds one document, or none. */
  readonly settled: readonly string[];
  /** Undefined at the end. */
  readonly cursor: ReconcileCursor | undefined;
}

/** Events of one script: about 2 ms of Redis. */
const PAGE = 200;
/** Where each is asked for, a page takes about a second: it is what an interruption may cost. */
const pageOf = ({ config, input }: Reconciling): number =>
  input.deep && !input.target.adapter.list
    ? Math.min(PAGE, Math.ceil(config.reconciliation.lookupsPerSecond))
    : PAGE;

/** What the parts of one reconciliation share. */
export interface Reconciling extends ReconcileDeps {
  readonly input: ReconcileInput;
  readonly name: string;
  readonly destination: string;
  readonly scope: ReconcileScope;
  readonly graceMs: number;
  readonly ask: Asker;
}

/**
 * Compares, from the records themselves, every accepted event of a time range with what became of it at one ERP target;
 * `deep` with the ERP's own documents, too. Page by page, each with a cursor: whatever the number of events, it takes the
 * memory of one page. It changes nothing. Where the ERP does not answer the deep part is skipped, and the page says so.
 */
export async function* reconcile(deps: ReconcileDeps, input: ReconcileInput): AsyncGenerator<ReconcilePage> {
  const { target, cursor } = input;
  const all: Reconciling = {
    ...deps,
    input,
    name: target.name,
    destination: erpDestination(target.name),
    scope: scopeOf(deps.config, target.name),
    graceMs: deps.config.reconciliation.grace,
    ask: createAsker(deps, target, input.signal),
  };
  let at: ReconcileCursor = cursor ?? {
    v: 1,
    target: target.name,
    since: input.since,
    until: input.until,
    ...(input.deep && { run: newId() }),
    phase: input.deep && target.adapter.list ? 'documents' : 'records',
  };
  let deep: DeepState = { kind: 'off' };
  let listedAt: number | undefined;
  if (at.run !== undefined) {
    const listed = yield* listPhase(all, at);
    [at, deep, listedAt] = [listed.at, listed.deep, listed.listedAt];
  }
  if (at.phase === 'records') {
    const walked = yield* recordsPhase(all, at, deep, listedAt);
    deep = walked;
    at = { ...at, phase: 'events' };
  }
  const nothing = { events: 0, deliveries: 0, open: 0, deep, settled: [] };
  for await (const findings of failedEvents(all)) yield { ...nothing, findings, cursor: at };
  if (at.run !== undefined) await forgetDocuments(deps.redis, deps.keys, at.run);
  yield { ...nothing, findings: [], cursor: undefined };
}

/** What the ERP lists is noted under the run's name, so that the walk through the records finds it there. */
async function* listPhase(
  all: Reconciling,
  from: ReconcileCursor,
): AsyncGenerator<ReconcilePage, { at: ReconcileCursor; deep: DeepState; listedAt: number | undefined }> {
  const { redis, keys, input } = all;
  const run = from.run ?? '';
  const next: ReconcileCursor = { ...from, phase: 'records' };
  const { list, find } = input.target.adapter;
  if (!list) {
    const deep: DeepState = find
      ? { kind: 'done', documents: 0, asked: 0 }
      : { kind: 'skipped', reason: 'the adapter can neither list documents nor look a reference up' };
    return { at: next, deep, listedAt: undefined };
  }
  if (from.phase !== 'documents') {
    const listedAt = await documentsBegun(redis, keys, run);
    if (listedAt !== undefined) return { at: from, deep: { kind: 'done', documents: 0, asked: 0 }, listedAt };
    return {
      at: from,
      deep: { kind: 'skipped', reason: 'what the ERP listed is forgotten by now: begin anew' },
      listedAt: undefined,
    };
  }
  const begun = await redisNowMs(redis);
  await beginDocuments(redis, keys, run, begun);
  let documents = 0;
  try {
    for await (const { findings, listedTo, looked } of compareDocuments(all, run, from.listedTo)) {
      documents += looked;
      const deep: DeepState = { kind: 'done', documents: looked, asked: all.ask.take() };
      yield {
        findings,
        events: 0,
        deliveries: 0,
        open: 0,
        deep,
        settled: [],
        cursor: { ...from, listedTo },
      };
    }
  } catch (error) {
    if (input.signal?.aborted === true) throw error; // broken off by us
    if (!(error instanceof AppError && error.code === 'unavailable')) throw error;
    await forgetDocuments(redis, keys, run);
    return { at: next, deep: { kind: 'skipped', reason: error.message }, listedAt: undefined };
  }
  // After a resumption the list began earlier than this; the first beginning is the one that counts.
  const listedAt = await documentsBegun(redis, keys, run);
  return { at: next, deep: { kind: 'done', documents: 0, asked: 0 }, listedAt };
}

async function* recordsPhase(
  all: Reconciling,
  from: ReconcileCursor,
  state: DeepState,
  listedAt: number | undefined,
): AsyncGenerator<ReconcilePage, DeepState> {
  const { redis, keys, input, destination, scope, graceMs } = all;
  let deep = state;
  let after = from.after;
  for (;;) {
    const page = await readWalkPage(redis, keys, {
      destination,
      since: from.since,
      until: from.until,
      after,
      limit: pageOf(all),
      graceMs,
      operators: scope.operators,
      // By look-up alone every posting is asked for, so none may be left out: the list is an empty one.
      documents: deep.kind === 'done' ? (from.run ?? '') : undefined,
    });
    const judgement: Judgement = {
      target: all.name,
      now: page.now,
      graceMs,
      looksUp: input.target.adapter.find !== undefined,
      isRouted: scope.isRouted,
      listedAt,
    };
    const judged = await judgeAll(all, page.suspects, judgement, deep);
    after = page.position ?? after;
    deep = judged.deep;
    yield {
      findings: judged.findings,
      events: page.events,
      deliveries: page.deliveries,
      open: page.open,
      deep,
      settled: judged.settled,
      cursor: { ...from, phase: 'records', ...(after && { after }) },
    };
    if (deep.kind === 'done') deep = { kind: 'done', documents: 0, asked: 0 };
    if (page.ended) return deep;
    if (input.signal?.aborted === true) throw input.signal.reason;
  }
}

async function judgeAll(
  all: Reconciling,
  suspects: readonly Suspect[],
  judgement: Judgement,
  state: DeepState,
): Promise<{ findings: Finding[]; settled: string[]; deep: DeepState }> {
  const findings: Finding[] = [];
  const settled: string[] = [];
  let deep = state;
  for (const suspect of suspects) {
    const finding = classify(suspect, judgement);
    if (deep.kind !== 'done') {
      if (finding) findings.push(finding);
      continue;
    }
    try {
      const confirmed = await all.ask.confirm(suspect, finding, judgement);
      if (confirmed) findings.push(confirmed);
      if (finding?.why === 'two_answers' && confirmed?.kind !== 'duplicate') settled.push(suspect.delivery);
    } catch (error) {
      if (all.input.signal?.aborted === true) throw error; // broken off by us
      if (!(error instanceof AppError && error.code === 'unavailable')) throw error;
      deep = { kind: 'skipped', reason: error.message };
      // What only the ERP could have told is left out: half an answer is none.
      if (finding?.by === 'records') findings.push(finding);
    }
  }
  return {
    findings,
    settled,
    deep: deep.kind === 'done' ? { ...deep, asked: deep.asked + all.ask.take() } : deep,
  };
}
