import { createHash, randomBytes } from 'node:crypto';

const ID_LENGTH = 22; // 22 of 62 characters carry 131 bits: two random ids never meet, and a dedupe record stays small

/** Letters and digits only: safe in a Redis key, a BullMQ job id, a URL and a shell. */
function alphanumeric(bytes: Buffer): string {
  // 64 bytes leave about 83 of 86 base64 characters, so 22 are always there.
  return bytes
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, ID_LENGTH);
}

/** A 22-character hash of several strings; the separator keeps ('a', 'bc') apart from ('ab', 'c'). */
export function hashId(...parts: readonly string[]): string {
  const hash = createHash('sha512');
  for (const part of parts) hash.update(String(Buffer.byteLength(part))).update(':').update(part);
  return alphanumeric(hash.digest());
}

/** A 22-character hash of raw bytes. */
export function hashBytes(bytes: Uint8Array): string {
  return alphanumeric(createHash('sha512').update(bytes).digest());
}

/** A fresh random id of 22 letters and digits. */
export function newId(): string {
  return alphanumeric(randomBytes(64));
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

/**
 * A reference as a header value: visible ASCII is kept, everything else (and `%`, so that no two references meet) is
 * percent-encoded. Event ids are a provider's free text; a line break in one must not forge a header.
 */
export function headerSafe(reference: string): string {
  return reference.replaceAll(/[^\u0021-\u007e]|%/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
