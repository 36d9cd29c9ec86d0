import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { erpDestination, hashId } from '@breakwater/contracts/ids';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { parsePointer, textAt } from '@breakwater/contracts/pointer';
import { typeMatches } from '@breakwater/contracts/type-pattern';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { EndpointRecord } from '@breakwater/store/endpoints';
import type { PlanEntry } from '@breakwater/store/transitions';
import type { EventContent } from './event-content.ts';

/** Does planning read values of the body? */
export function planReadsBody(
  event: Pick<EventContent, 'source' | 'type'>,
  config: BreakwaterConfig,
  targets: ReadonlyMap<string, ReadyErpTarget>,
): boolean {
  return config.routes.some((route) => {
    const target = routedTo(route, event, targets)?.config;
    return target?.serialKey !== undefined || target?.reference !== undefined;
  });
}

/** The target of a route that wants the event. The configuration was checked: a route names a target that exists. */
const routedTo = (
  route: BreakwaterConfig['routes'][number],
  event: Pick<EventContent, 'source' | 'type'>,
  targets: ReadonlyMap<string, ReadyErpTarget>,
): ReadyErpTarget | undefined =>
  route.source === event.source && route.types.some((type) => typeMatches(type, event.type))
    ? targets.get(route.target)
    : undefined;

/**
 * Where an event goes: ERP targets by the routes of the configuration, endpoints by what they ask for. The store keeps
 * the first plan of an event for ever, so this may change with the configuration. `unreadable`: the body is too large to be
 * parsed here, so it is planned as one without key and reference; its attempt says so, or has more memory.
 */
export async function planEvent(
  event: EventContent,
  config: BreakwaterConfig,
  targets: ReadonlyMap<string, ReadyErpTarget>,
  endpoints: readonly EndpointRecord[],
  unreadable = false,
): Promise<PlanEntry[]> {
  const plan = new Map<string, PlanEntry>();
  for (const route of config.routes) {
    const target = routedTo(route, event, targets);
    if (!target) continue;
    const destination = erpDestination(route.target);
    plan.set(destination, {
      d: destination,
      ...(!unreadable && serialGate(destination, target.config.serialKey?.pointer, event)),
      ...(!unreadable &&
        target.config.reference !== undefined &&
        (await mappedReference(target.mapping, event))),
    });
  }
  for (const endpoint of endpoints) {
    if (endpoint.sources.length > 0 && !endpoint.sources.includes(event.source)) continue;
    if (!endpoint.types.some((type) => typeMatches(type, event.type))) continue;
    plan.set(endpoint.id, {
      d: endpoint.id,
      ...(namesSource(endpoint, event.source) && { r: `${event.source}:${event.eventId}` }),
    });
  }
  return [...plan.values()];
}

/**
 * Is the source part of the reference? Where the endpoint says so; and for published events at an endpoint that takes
 * every source, since it is fed by providers too whose ids could meet theirs (docs/decisions/0006).
 */
function namesSource(endpoint: EndpointRecord, source: string): boolean {
  return endpoint.reference === 'source' || (source === RESERVED_SOURCE && endpoint.sources.length === 0);
}

/** Work with one key is done one at a time: the gate of that key. An event without the key has none to respect. */
function serialGate(destination: string, pointer: string | undefined, event: EventContent): { k?: string } {
  const tokens = pointer === undefined ? undefined : parsePointer(pointer);
  if (!tokens || !event.json) return {};
  const value = textAt(event.json, tokens);
  return value === undefined ? {} : { k: `${destination}/${hashId('key', value)}` };
}

/** A mapping that fails leaves the reference open; the attempt tries again and dead-letters the delivery with the words. */
async function mappedReference(
  mapping: ReadyErpTarget['mapping'],
  event: EventContent,
): Promise<{ r?: string }> {
  const reference = await mapping.reference(event.mappingInput);
  return reference.ok ? { r: reference.value } : {};
}
