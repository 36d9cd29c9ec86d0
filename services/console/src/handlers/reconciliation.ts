import { type Finding, FINDING_KINDS, noFindings } from '@breakwater/contracts/reconciliation';
import { latestFindings, latestReconciliation } from '@breakwater/core/reconciliation-results';
import { type ApiDeps, defined, type Handlers } from '../call.ts';
import { visibleTargets } from './visible-targets.ts';

/** More than a person reads; `breakwater reconcile` lists every one. */
const FINDINGS_SHOWN = 200;

export function reconciliationHandlers(deps: ApiDeps): Pick<Handlers, 'getReconciliation'> {
  const { config } = deps;
  /** What one run found, for one operator or for all. An operator sees only its own: neither the work of others nor their sum. */
  const look = async (target: string, operator: string | undefined) => {
    const latest = await latestReconciliation(deps, target, config.reconciliation);
    const kept = await latestFindings(deps, target);
    const findings = operator === undefined ? kept : kept.filter((finding) => finding.operator === operator);
    return {
      target,
      startedAt: latest?.startedAt ?? null,
      since: latest?.since ?? null,
      until: latest?.until ?? null,
      deepAt: latest?.deepAt ?? null,
      stale: latest?.stale ?? true,
      counts: operator === undefined && latest ? latest.counts : countOf(findings),
      complete: latest !== undefined && kept.length === sumOf(latest.counts),
      findings: findings.slice(0, FINDINGS_SHOWN).map(viewOfFinding),
      fleet:
        operator === undefined && latest
          ? {
              events: latest.events,
              deliveries: latest.deliveries,
              open: latest.open,
              tookMs: latest.tookMs,
              deep: {
                kind: latest.deep.kind,
                ...(latest.deep.kind === 'skipped' && { reason: latest.deep.reason }),
              },
            }
          : null,
    };
  };
  return {
    async getReconciliation({ operator, caller, query }) {
      const everybody = caller.scope.operator === null && query.operator === undefined;
      const targets = visibleTargets(config, everybody ? undefined : operator, query.target);
      return {
        answer: {
          targets: await Promise.all(targets.map((target) => look(target, everybody ? undefined : operator))),
        },
      };
    },
  };
}

const viewOfFinding = (finding: Finding) => ({ ...defined(finding), receipts: [...finding.receipts] });

function countOf(findings: readonly Finding[]): Record<Finding['kind'], number> {
  const counts = noFindings();
  for (const { kind } of findings) counts[kind] += 1;
  return counts;
}

const sumOf = (counts: Readonly<Record<Finding['kind'], number>>): number =>
  FINDING_KINDS.reduce((sum, kind) => sum + counts[kind], 0);
