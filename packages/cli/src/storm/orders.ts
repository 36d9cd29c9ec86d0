import type { Source } from '@breakwater/contracts/source-config';
import type { Expression } from '@breakwater/contracts/source-parts';
import { parsePointer } from '@breakwater/contracts/pointer';

/** One order of a run: what the provider sends, again and again, to the byte. */
export interface Order {
  readonly eventId: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string[]>>;
}

/** So many warehouses work in parallel; the ERP of the story works serially in each. */
const WAREHOUSES = 10;

export interface OrderShape {
  readonly source: Source;
  /** Event type of the orders. */
  readonly type: string;
  /** JSON pointers of the serial keys of the ERP targets. */
  readonly serialKeys: readonly string[];
}

/** Order `number` of a run, the same whenever it is made: repeating a run must repeat its bytes. */
export function makeOrder(shape: OrderShape, run: string, number: number): Order {
  const { source } = shape;
  const eventId = `storm-${run}-${number}`;
  const warehouse = `W${(number % WAREHOUSES) + 1}`;
  const document: Record<string, unknown> = {
    order_id: `order-${run}-${number}`,
    warehouse,
    lines: [
      { sku: 'MILK-1L', quantity: 1 + (number % 7) },
      { sku: 'FLOUR-550', quantity: 2 },
    ],
  };
  const headers: Record<string, string[]> = { 'content-type': ['application/json'] };
  for (const pointer of shape.serialKeys) setPointer(document, pointer, warehouse);
  place(document, headers, source.entity?.[0], `order-${run}-${number}`);
  place(document, headers, source.type?.[0], shape.type);
  place(document, headers, source.eventId[0], eventId);
  return { eventId, body: Buffer.from(JSON.stringify(document)), headers };
}

/** Puts a value where the source is configured to find it. */
function place(
  document: Record<string, unknown>,
  headers: Record<string, string[]>,
  locator: Expression | undefined,
  value: string,
): void {
  if (!locator) return;
  if ('header' in locator) headers[locator.header] = [value];
  else if ('pointer' in locator) setPointer(document, locator.pointer, value);
  else throw new Error('a storm needs a source whose event id, type and entity are at one place each');
}

function setPointer(document: Record<string, unknown>, pointer: string, value: string): void {
  const tokens = parsePointer(pointer) ?? [];
  const last = tokens.pop();
  if (last === undefined) return;
  let parent = document;
  for (const token of tokens) {
    const child = parent[token];
    const next: Record<string, unknown> = typeof child === 'object' && child !== null ? { ...child } : {};
    parent[token] = next;
    parent = next;
  }
  parent[last] = value;
}

/** Every order once, the rest spread evenly over all; in random order, so that duplicates overlap. */
export function shuffledDeliveries(
  orders: number,
  deliveries: number,
  random: () => number = Math.random,
): number[] {
  const list = Array.from({ length: deliveries }, (_, index) => index % orders);
  for (let index = list.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other] ?? 0, list[index] ?? 0];
  }
  return list;
}
