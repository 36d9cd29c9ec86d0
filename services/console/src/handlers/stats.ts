import { DELIVERY_STATUSES } from '@breakwater/contracts/delivery';
import type { HistoryRange } from '@breakwater/contracts/history';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { type AckTimes, readAckTimes } from '@breakwater/core/ack-times';
import { fleetHistory, sampleOf } from '@breakwater/core/history';
import type { Sample } from '@breakwater/runtime/metrics-fleet';
import { countByStatus } from '@breakwater/store/indexes';
import { type Ledger, readLedger } from '@breakwater/store/ledger';
import type { ApiDeps, Handlers, Outcome } from '../call.ts';

type FleetView = NonNullable<Outcome<'getStats'>['answer']['fleet']>;

const BREAKER_STATES = ['closed', 'half_open', 'open'] as const;

/** The figures of the overview: an operator's own, and those of the fleet for a token of every operator. */
export function statsHandlers(deps: ApiDeps): Pick<Handlers, 'getStats'> {
  const { redis, keys, config } = deps;
  return {
    async getStats({ operator, caller, query }) {
      const ledger = await readLedger(redis, keys);
      const own = Object.keys(config.sources).filter((name) => config.sources[name]?.operator === operator);
      const ackTimes = await readAckTimes(redis, keys);
      return {
        answer: {
          operator,
          deliveries: await countByStatus(redis, keys, operator, DELIVERY_STATUSES),
          sources: [
            ...own.map((source) => ({
              source,
              accepted: ledger.accepted.get(source) ?? 0,
              unrouted: ledger.unrouted.get(source) ?? 0,
            })),
            {
              source: RESERVED_SOURCE,
              accepted: ledger.published.get(operator) ?? 0,
              unrouted: ledger.publishedUnrouted.get(operator) ?? 0,
            },
          ],
          acknowledgements: ackTimes(own),
          fleet:
            caller.scope.operator === null
              ? await viewOfFleet(deps, ledger, ackTimes(), query.history)
              : null,
        },
      };
    },
  };
}

/** Figures of all operators together: counters as they stand, and what the latest snapshot has read besides. */
async function viewOfFleet(
  { redis, keys, config, fleet }: Pick<ApiDeps, 'redis' | 'keys' | 'config' | 'fleet'>,
  ledger: Ledger,
  acknowledgements: AckTimes,
  range: HistoryRange | undefined,
): Promise<FleetView> {
  const { snapshot, takenAt = null } = fleet() ?? {};
  const targets = Object.entries(config.erpTargets);
  const used = snapshot?.redisMemoryUsed[0]?.[1];
  return {
    takenAt,
    deliveries: Object.fromEntries(
      [...ledger.deliveries].map(([destination, statuses]) => [destination, Object.fromEntries(statuses)]),
    ),
    targets: targets.map(([target, { owner }]) => {
      const ratio = sampleOf(snapshot?.ratio ?? [], target) ?? Number.NaN;
      return {
        target,
        owner,
        expected: ledger.expected.get(target) ?? 0,
        postings: ledger.postings.get(target) ?? 0,
        resolved: ledger.resolved.get(target) ?? 0,
        documents: sampleOf(snapshot?.documents ?? [], target),
        ratio: Number.isFinite(ratio) ? ratio : null,
        breaker: BREAKER_STATES[sampleOf(snapshot?.breaker ?? [], target) ?? -1] ?? null,
      };
    }),
    interrupted: ledger.interrupted,
    autoPauses: ledger.autoPauses,
    acknowledgements,
    pastDueMs: snapshot ? inMs(snapshot.pastDue) : null,
    oldestOpenMs: snapshot ? inMs(snapshot.oldestOpen) : null,
    redis:
      used === undefined ? null : { usedBytes: used, maxBytes: snapshot?.redisMemoryMax[0]?.[1] ?? null },
    history:
      range === undefined
        ? null
        : await fleetHistory(
            redis,
            keys,
            range,
            targets.map(([target]) => target),
          ),
  };
}

const inMs = (samples: readonly Sample[]): Record<string, number> =>
  Object.fromEntries(samples.map(([[label = ''], seconds]) => [label, Math.round(seconds * 1_000)]));
