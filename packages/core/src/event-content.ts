import { isUtf8 } from 'node:buffer';
import { isJson } from '@breakwater/contracts/json-check';
import type { EventJob } from '@breakwater/contracts/jobs';
import { decodeBody } from '@breakwater/contracts/jobs';
import { type MappingInput, toMappingInput } from '@breakwater/erp/mapping';
import type { EventRecord } from '@breakwater/store/events';

/** An event with its body read once: what planning, mapping and sending need. */
export interface EventContent {
  readonly operator: string;
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly receivedAt: number;
  readonly occurredAt?: number;
  readonly contentType: string;
  /** The source's own bytes. */
  readonly body: Buffer;
  /** Is the body JSON? Cheap, however large it would be once parsed. */
  readonly isJson: boolean;
  /** The body as JSON, with its text for exact numbers; undefined when it is none. */
  readonly json: { readonly text: string; readonly value: unknown } | undefined;
  readonly mappingInput: MappingInput;
}

export const contentOfJob = (job: EventJob): EventContent => contentOf({ ...job, body: decodeBody(job) });

export function contentOf(event: Omit<EventRecord, 'key' | 'plan'>): EventContent {
  const { operator, source, eventId, type, entity, receivedAt, contentType, body } = event;
  // Made for whoever asks: as text it is held twice, and parsed it takes up to thirty times its bytes.
  const text = (): string => (isUtf8(body) ? new TextDecoder().decode(body) : ''); // drops a byte order mark, which JSON.parse refuses
  let json: { readonly parsed: EventContent['json'] } | undefined;
  let mappingInput: MappingInput | undefined;
  return {
    operator,
    source,
    eventId,
    type,
    receivedAt,
    ...(event.occurredAt !== undefined && { occurredAt: event.occurredAt }),
    contentType,
    body,
    get isJson() {
      return isUtf8(body) && isJson(withoutMark(body));
    },
    get json() {
      return (json ??= { parsed: parse(text()) }).parsed;
    },
    get mappingInput() {
      return (mappingInput ??= toMappingInput({
        operator,
        source,
        eventId,
        type,
        entity,
        receivedAt,
        text: text(),
      }));
    },
  };
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** A byte order mark is allowed in front of a JSON text at best, never in the middle of one. */
export const withoutMark = (body: Buffer): Buffer =>
  body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? body.subarray(3) : body;

function parse(text: string): EventContent['json'] {
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
