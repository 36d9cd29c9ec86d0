import { destinationOf } from '@breakwater/contracts/admin-requests';
import type { Delivery } from '@breakwater/contracts/delivery';
import { remedyFor } from '@breakwater/contracts/failure-class';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { listDeadLetterGroups } from '@breakwater/core/dead-letter-groups';
import { noDelivery, resolveDeadLetter } from '@breakwater/core/dead-letters';
import { listDeliveries } from '@breakwater/core/list-deliveries';
import { sourcesOfOperator } from '@breakwater/core/source-report';
import { REPLAY_NOTICE, requestReplay } from '@breakwater/core/replay';
import { readDelivery, readSample } from '@breakwater/store/deliveries';
import { type ApiDeps, defined, type Handlers } from '../call.ts';

type Names = 'listDeliveries' | 'getDelivery' | 'replayDelivery' | 'resolveDelivery' | 'listDeadLetterGroups';

/** A delivery as the API shows it: each attempt says what to do about it. */
export const viewOfDelivery = (delivery: Delivery) => ({
  ...delivery,
  attempts: delivery.attempts.map((attempt) => ({
    ...attempt,
    remedy: attempt.outcome === 'sent' ? '' : remedyFor(attempt.class),
  })),
});

export function deliveryHandlers(deps: ApiDeps): Pick<Handlers, Names> {
  const { redis, keys, config } = deps;
  const find = async (operator: string, id: string): Promise<Delivery> => {
    const delivery = await readDelivery(redis, keys, operator, id);
    if (!delivery) throw noDelivery(operator, id);
    return delivery;
  };
  return {
    async listDeliveries({ operator, query }) {
      const { status, source, type, since, until, limit, cursor } = query;
      const wanted = defined({
        operator,
        status,
        destination: destinationOf(query),
        source,
        type,
        eventId: query.event,
        failureClass: query.class,
        since,
        until,
      });
      const own = sourcesOfOperator(config, operator).map(([name]) => name);
      const sources = [RESERVED_SOURCE, ...own];
      const page = await listDeliveries(redis, keys, wanted, sources, defined({ limit, cursor }));
      return { answer: { ...page, deliveries: page.deliveries.map(viewOfDelivery) } };
    },
    async getDelivery({ operator, params }) {
      const delivery = await find(operator, params.id);
      const sample = (await readSample(redis, keys, params.id)) ?? null;
      return { answer: { ...viewOfDelivery(delivery), sample, replayNotice: REPLAY_NOTICE } };
    },
    async replayDelivery({ operator, actor, params, body }) {
      const { mode, reason, acknowledgeDuplicates } = body;
      const replayId = await requestReplay(deps.transitions, deps.clocks, {
        delivery: params.id,
        operator,
        mode,
        reason,
        acknowledged: acknowledgeDuplicates,
        actor,
      });
      return { answer: { ok: true, replayId, delivery: params.id, replayNotice: REPLAY_NOTICE } };
    },
    async resolveDelivery({ operator, actor, params, body }) {
      await resolveDeadLetter(deps, { operator, delivery: params.id, actor, ...body });
      return { answer: { ok: true, delivery: viewOfDelivery(await find(operator, params.id)) } };
    },
    async listDeadLetterGroups({ operator, query }) {
      const { limit, cursor } = query;
      const wanted = defined({ operator, destination: destinationOf(query) });
      return { answer: await listDeadLetterGroups(redis, keys, wanted, defined({ limit, cursor })) };
    },
  };
}
