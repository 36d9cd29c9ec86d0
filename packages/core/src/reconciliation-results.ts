import {
  type DeepState,
  type Finding,
  FINDING_KINDS,
  type FindingCounts,
  noFindings,
  type ReconciliationSummary,
} from '@breakwater/contracts/reconciliation';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { Sample } from '@breakwater/runtime/metrics-fleet';
import { redisNowMs } from '@breakwater/store/clock';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { readReconciliationPart } from '@breakwater/store/reconciliations';

export interface ReconciliationSettings {
  /** ms. */
  readonly every: number;
  readonly window: number;
  readonly deepEvery: number;
}

/** Findings that are kept by name; the counts are complete. */
export const KEPT_FINDINGS = 1_000;

/** What the ERP itself told, and when. It stands until it is asked again. */
export interface DeepPart {
  readonly at: number;
  readonly tookMs: number;
  readonly counts: FindingCounts;
  readonly findings: readonly Finding[];
  /** Deliveries whose second creating answer was explained. */
  readonly settled: readonly string[];
}

interface Store {
  readonly redis: Redis;
  readonly keys: Keyspace;
}

/** The latest try to compare with the ERP, whether it answered or not. */
export interface DeepTry {
  readonly at: number;
  readonly state: DeepState;
}

/** Only the rounds write the parts, so their shapes are what they wrote. */
const summaryOf = (json: string): ReconciliationSummary => JSON.parse(json);
const deepPartOf = (json: string): DeepPart => JSON.parse(json);
const deepTryOf = (json: string): DeepTry => JSON.parse(json);
const findingsOf = (json: string): Finding[] => JSON.parse(json);

/** What the ERP told last. */
export async function readDeepPart({ redis, keys }: Store, target: string): Promise<DeepPart | undefined> {
  const json = await readReconciliationPart(redis, keys, target, 'deep');
  return json === undefined ? undefined : deepPartOf(json);
}

/** When the ERP was asked last, and what became of it. */
export async function readDeepTry({ redis, keys }: Store, target: string): Promise<DeepTry | undefined> {
  const json = await readReconciliationPart(redis, keys, target, 'asked');
  return json === undefined ? undefined : deepTryOf(json);
}

/** Since when a target is to be reconciled, ms; undefined where no console has wanted to yet. */
async function readExpected({ redis, keys }: Store, target: string): Promise<number | undefined> {
  const at = await readReconciliationPart(redis, keys, target, 'expected');
  return at === undefined ? undefined : Number(at);
}

/** Latest scheduled reconciliation of a target, and whether it is too old to be believed. */
export async function latestReconciliation(
  store: Store,
  target: string,
  settings: ReconciliationSettings,
): Promise<(ReconciliationSummary & { readonly ageMs: number; readonly stale: boolean }) | undefined> {
  const json = await readReconciliationPart(store.redis, store.keys, target, 'summary');
  if (json === undefined) return undefined;
  const summary = summaryOf(json);
  const ageMs = Math.max(0, (await redisNowMs(store.redis)) - summary.startedAt);
  return { ...summary, ageMs, stale: ageMs > validMs(settings, summary.tookMs) };
}

/** The first findings of the latest scheduled reconciliation. */
export async function latestFindings({ redis, keys }: Store, target: string): Promise<readonly Finding[]> {
  const json = await readReconciliationPart(redis, keys, target, 'findings');
  return json === undefined ? [] : findingsOf(json);
}

/** Two runs may fail before what was found counts as old; a run that takes long is no failure. */
const validMs = ({ every }: ReconciliationSettings, tookMs: number): number => 3 * every + tookMs + 5_000;
const deepValidMs = ({ deepEvery, every }: ReconciliationSettings, tookMs: number): number =>
  3 * (deepEvery + every) + 2 * tookMs; // its own time, and that of the next

/** Samples for the metrics: no figure where the latest run is too old, and always its age. */
export async function reconciliationSamples(
  store: Store & { readonly config: { readonly reconciliation: ReconciliationSettings } },
  targets: readonly ReadyErpTarget[],
): Promise<
  Record<'reconcileMissing' | 'reconcileDuplicate' | 'reconcileUnknown' | 'reconcileAge', Sample[]>
> {
  const settings = store.config.reconciliation;
  const missing: Sample[] = [];
  const duplicate: Sample[] = [];
  const unknown: Sample[] = [];
  const age: Sample[] = [];
  const now = await redisNowMs(store.redis);
  for (const { name: target, adapter } of targets) {
    const latest = await latestReconciliation(store, target, settings);
    // What was never done is as old as the wish for it: a round that has not succeeded once must not look like none that is due.
    const expectedAt = await readExpected(store, target);
    const recordsAt = latest?.startedAt ?? expectedAt;
    if (recordsAt !== undefined) age.push([[target, 'records'], Math.max(0, now - recordsAt) / 1_000]);
    const isAsked = settings.deepEvery > 0 && (adapter.list ?? adapter.find) !== undefined;
    const erpAt = latest?.deepAt ?? (isAsked ? expectedAt : undefined);
    if (erpAt !== undefined) age.push([[target, 'erp'], Math.max(0, now - erpAt) / 1_000]);
    if (!latest || latest.stale) continue;
    missing.push([[target], latest.counts.missing]);
    duplicate.push([[target], latest.counts.duplicate]);
    unknown.push([[target], latest.counts.unknown]);
  }
  return {
    reconcileMissing: missing,
    reconcileDuplicate: duplicate,
    reconcileUnknown: unknown,
    reconcileAge: age,
  };
}

const nameOf = ({ why, delivery, reference, receipts }: Finding): string =>
  JSON.stringify([why, delivery, reference, receipts]);

/** Gathers what one round finds, in the memory of the first thousand findings of either side. */
export class Tally {
  readonly #byRecords = noFindings();
  readonly #byErp = noFindings();
  readonly #recordFindings: Finding[] = [];
  readonly #erpFindings: Finding[] = [];
  readonly #explained: ReadonlySet<string>;
  readonly #known = new Set<string>();
  readonly settled: string[] = [];

  /**
   * `former`: what the ERP told last, which explains some second answers. `begun`: what it has told to this round already,
   * before the round was interrupted; a document at the very place where it goes on is told again, and counted once.
   */
  constructor(former: DeepPart | undefined, begun?: Pick<DeepPart, 'counts' | 'findings' | 'settled'>) {
    this.#explained = new Set(former?.settled);
    if (!begun) return;
    Object.assign(this.#byErp, begun.counts);
    this.#erpFindings.push(...begun.findings);
    this.settled.push(...begun.settled);
    for (const finding of begun.findings) this.#known.add(nameOf(finding));
  }

  add(finding: Finding): void {
    if (finding.by === 'erp' && this.#known.has(nameOf(finding))) return;
    if (finding.why === 'two_answers' && this.#explained.has(finding.delivery ?? '')) return;
    const [counts, kept] =
      finding.by === 'erp' ? [this.#byErp, this.#erpFindings] : [this.#byRecords, this.#recordFindings];
    counts[finding.kind] += 1;
    if (kept.length < KEPT_FINDINGS) kept.push(finding);
  }

  /** What the ERP told, to be kept. */
  deepPart(at: number, tookMs: number): DeepPart {
    return {
      at,
      tookMs,
      counts: this.#byErp,
      findings: this.#erpFindings,
      settled: this.settled.slice(0, KEPT_FINDINGS),
    };
  }

  /** What the records say and what the ERP told last, where that is not too old. */
  result(
    facts: Omit<ReconciliationSummary, 'counts' | 'kept' | 'deepAt'>,
    told: DeepPart | undefined,
    settings: ReconciliationSettings,
  ): { readonly summary: ReconciliationSummary; readonly findings: Finding[] } {
    const erp = told && facts.startedAt - told.at <= deepValidMs(settings, told.tookMs) ? told : undefined;
    const counts = noFindings();
    for (const kind of FINDING_KINDS) counts[kind] = this.#byRecords[kind] + (erp?.counts[kind] ?? 0);
    const findings = [...(erp?.findings ?? []), ...this.#recordFindings].slice(0, KEPT_FINDINGS);
    return { summary: { ...facts, counts, kept: findings.length, deepAt: told?.at ?? null }, findings };
  }
}
