import { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, eventKey, newId } from '@breakwater/contracts/ids';
import type { Redis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { policyOf } from '@breakwater/store/policy';
import { Transitions } from '@breakwater/store/transitions';
import { connect } from './acceptor.ts';

/** Deliveries of several operators in a key space of their own, walked through the real scripts. */
export function openRecords(retrySchedule: readonly string[], redis: Redis = connect()) {
  const keys = createKeyspace(`t${newId()}`);
  const policy = policyOf(BreakwaterConfig.parse({ deliveries: { retrySchedule } }));
  const transitions = new Transitions(redis, keys, policy);
  /** One event with a delivery to each of these. Resolves to their ids. */
  const record = async (
    destinations: readonly string[],
    { operator = 'default', source = 'shop', eventId = newId(), type = 'order.paid' } = {},
  ): Promise<string[]> => {
    const key = eventKey(operator, source, eventId);
    await transitions.recordEvent({
      eventKey: key,
      source,
      operator,
      plan: destinations.map((d) => ({ d })),
      fields: { eventId, type },
      from: 0,
      count: 1_000,
      replan: false,
    });
    return destinations.map((d) => deliveryId(key, d));
  };
  /** One attempt that ends with this class; `sent` is a success. */
  const fail = async (id: string, failureClass: string): Promise<void> => {
    const alarmId = `${id}-${await redis.hget(keys.delivery(id), 'seq')}`;
    const begun = await transitions.beginAttempt(id, alarmId, newId());
    if (begun.kind !== 'go') throw new Error(`it did not begin: ${begun.kind}`);
    const { attempt } = begun.go;
    const outcome = failureClass === 'sent' ? 'sent' : 'failed';
    await transitions.endAttempt({
      delivery: id,
      alarmId,
      attempt,
      outcome,
      class: failureClass,
      code: '',
      handOffToken: '',
    });
  };
  return { redis, keys, transitions, record, fail };
}
