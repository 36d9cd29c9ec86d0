import { type MappingInput, toMappingInput } from '../../src/mapping.ts';

/** An event of the demonstration's shape, with a body of one's own. */
export function eventOf(body: string | object, eventId = 'evt-1'): MappingInput {
  return toMappingInput({
    eventId,
    type: 'order.paid',
    source: 'demo-payments',
    operator: 'default',
    entity: 'order-1',
    receivedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    text: typeof body === 'string' ? body : JSON.stringify(body),
  });
}
