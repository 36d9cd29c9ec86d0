import type { Finding } from '@breakwater/contracts/reconciliation';
import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import type { Reconciling } from './reconcile.ts';

/** Accepted events whose fan-out has failed and that a route would bring here. They are run again every 30 s. */
export async function* failedEvents(all: Reconciling): AsyncGenerator<Finding[]> {
  const { maintenance, redis, keys, scope, destination, input } = all;
  for await (const page of maintenance.eachFailedEvent()) {
    const findings: Finding[] = [];
    for (const { job, event, why } of page) {
      if (!event) continue; // a payload that cannot be read names no target
      const { operator, source, eventId, type, receivedAt } = event;
      if (receivedAt < input.since || receivedAt > input.until || !scope.isRouted(source, type)) continue;
      const delivery = deliveryId(eventKey(operator, source, eventId), destination);
      if ((await redis.exists(keys.delivery(delivery))) === 1) continue; // half of it was done, and the walk has seen it
      findings.push({
        kind: 'missing',
        why: 'fan_out_failed',
        target: all.name,
        operator,
        source,
        eventId,
        delivery,
        reference: eventId,
        receipts: [],
        at: receivedAt,
        by: 'records',
        detail: `Accepted, and its fan-out has failed (job ${job}): ${why}`,
        next: "Mend what the dispatcher's log says; the job is run again every 30 seconds",
      });
    }
    if (findings.length > 0) yield findings;
  }
}
