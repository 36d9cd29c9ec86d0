import { isUtf8 } from 'node:buffer';
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
  /** The body as JSON, with its text for exact numbers; undefined when it is none. */
  readonly json: { readonly text: string; readonly value: unknown } | undefined;
  readonly mappingInput: MappingInput;
}

export const contentOfJob = (job: EventJob): EventContent => contentOf({ ...job, body: decodeBody(job) });

export function contentOf(event: Omit<EventRecord, 'key' | 'plan'>): EventContent {
  const { operator, source, eventId, type, entity, receivedAt, contentType, body } = event;
  const text = isUtf8(body) ? new TextDecoder().decode(body) : ''; // drops a byte order mark, which JSON.parse refuses
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
    // Parsed, a body takes up to thirty times its bytes, so only for whoever asks.
    get json() {
      return (json ??= { parsed: parse(text) }).parsed;
    },
    get mappingInput() {
      return (mappingInput ??= toMappingInput({
        operator,
        source,
        eventId,
        type,
        entity,
        receivedAt,
        text,
      }));
    },
  };
}

function parse(text: string): EventContent['json'] {
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
