import { hash, randomFillSync } from 'node:crypto';

const ID_LENGTH = 22; // 22 of 62 characters carry 131 bits: two random ids never meet, and a dedupe record stays small
const RAW_BYTES = 64; // about 83 of the 86 base64 characters of 64 bytes are letters and digits, so 22 are always there

/** Letters and digits only: safe in a Redis key, a BullMQ job id, a URL and a shell. */
const alphanumeric = (base64: string): string => base64.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, ID_LENGTH);

/** A 22-character hash of several strings; their lengths keep ('a', 'bc') apart from ('ab', 'c'). */
export function hashId(...parts: readonly string[]): string {
  return alphanumeric(hash('sha512', parts.map((part) => `${part.length}:${part}`).join(''), 'base64'));
}

/** A 22-character hash of raw bytes. */
export function hashBytes(bytes: Uint8Array): string {
  return alphanumeric(hash('sha512', bytes, 'base64'));
}

const pool = Buffer.alloc(RAW_BYTES * 128); // asking the system for every id would cost more than all the rest of it
let used = pool.length;

/** A fresh random id of 22 letters and digits. */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += RAW_BYTES;
  return alphanumeric(pool.toString('base64', used - RAW_BYTES, used));
}

/** Identity of an event: one operator, one source, one provider's id. Key of its record and of its dedupe record. */
export function eventKey(operator: string, source: string, eventId: string): string {
  return hashId('event', operator, source, eventId);
}

export type DestinationKind = 'endpoint' | 'erp';

const ENDPOINT_PREFIX = 'ep_';
const ERP_PREFIX = 'erp_';

/** Id of a new endpoint; it doubles as the destination of its deliveries. */
export const newEndpointId = (): string => `${ENDPOINT_PREFIX}${newId()}`;

/** Destination id of an ERP target. */
export const erpDestination = (target: string): string => `${ERP_PREFIX}${target}`;

export function destinationKind(destination: string): DestinationKind {
  return destination.startsWith(ERP_PREFIX) ? 'erp' : 'endpoint';
}

/** The ERP target's name, or undefined for an endpoint. */
export function erpTargetOf(destination: string): string | undefined {
  return destination.startsWith(ERP_PREFIX) ? destination.slice(ERP_PREFIX.length) : undefined;
}

/** What people call a destination: the name of an ERP target, the id of an endpoint. */
export const destinationName = (destination: string): string =>
  destinationKind(destination) === 'erp' ? destinationLabel(destination) : destination;

/** Metric label of a destination: an ERP target's name or `endpoint`, never an id. */
export const destinationLabel = (destination: string): string => erpTargetOf(destination) ?? 'endpoint';

/** A delivery is one event to one destination, so its id is made of both and fan-out can be repeated. */
export const deliveryId = (event: string, destination: string): string => `${event}.${destination}`;

export function parseDeliveryId(id: string): { event: string; destination: string } | undefined {
  const dot = id.indexOf('.');
  if (dot !== ID_LENGTH) return undefined;
  return { event: id.slice(0, dot), destination: id.slice(dot + 1) };
}

/**
 * A job id is `<delivery>-<seq>` for a scheduled attempt and `<delivery>-r<replayId>` for a replay. Target names may
 * hold a dash, seq and replay ids never do, so the last dash separates.
 */
export function deliveryOfAlarm(alarmId: string): string {
  return alarmId.slice(0, alarmId.lastIndexOf('-'));
}

/** A bulk run asks at most once for a delivery, so `bulk.<run>` is the id of the replay. */
export const isBulkAlarm = (alarmId: string): boolean =>
  alarmId.startsWith('rbulk.', alarmId.lastIndexOf('-') + 1);

/**
 * A reference as a header value: visible ASCII is kept, everything else (and `%`, so that no two references meet) is
 * percent-encoded. Event ids are a provider's free text; a line break in one must not forge a header.
 */
export function headerSafe(reference: string): string {
  return reference.replaceAll(/[^\u0021-\u007e]|%/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
