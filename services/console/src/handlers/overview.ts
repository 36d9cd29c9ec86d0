import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import { listAudit } from '@breakwater/core/audit-log';
import { AppError } from '@breakwater/runtime/errors';
import { readDeliveries } from '@breakwater/store/deliveries';
import { readEvent } from '@breakwater/store/events';
import { type ApiDeps, defined, type Handlers } from '../call.ts';
import { viewOfDelivery } from './deliveries.ts';
import { encodeBytes } from './encode-bytes.ts';

/** An event may have thousands of destinations; the list of deliveries pages through them all. */
const DELIVERIES_SHOWN = 100;

/** Events and the audit log. */
export function overviewHandlers(deps: ApiDeps): Pick<Handlers, 'getEvent' | 'listAudit'> {
  const { redis, keys } = deps;
  return {
    async getEvent({ operator, params, query }) {
      const { source, eventId } = params;
      const event = await readEvent(redis, keys, eventKey(operator, source, eventId));
      if (!event)
        throw new AppError(
          'not_found',
          `No event ${eventId} of source ${source} belongs to operator ${operator}.`,
        );
      const { body, plan, ...facts } = event;
      const ids = plan.slice(0, DELIVERIES_SHOWN).map(({ d }) => deliveryId(event.key, d));
      const deliveries = await readDeliveries(redis, keys, ids);
      return {
        answer: {
          ...facts,
          bodyBytes: body.length,
          unrouted: plan.length === 0,
          ...(query.body && { body: encodeBytes(body) }),
          deliveries: deliveries.map(viewOfDelivery),
          erpDocuments: deliveries
            .filter(
              ({ destination, status, receipt }) =>
                destination.kind === 'erp' && (status === 'sent' || receipt !== null),
            )
            .map(({ id, destination, reference, receipt }) => ({
              target: destination.name,
              delivery: id,
              reference,
              receipt,
            })),
        },
      };
    },
    async listAudit({ operator, caller, query }) {
      const { action, limit, cursor } = query;
      const everybody = caller.scope.operator === null && query.operator === undefined;
      return {
        answer: await listAudit(
          redis,
          keys,
          defined({ operator: everybody ? undefined : operator, action }),
          defined({ limit, cursor }),
        ),
      };
    },
  };
}
