import { PUBLISH_LIMITS, PublishedEvent } from '@breakwater/contracts/publish';
import type { ErrorCode } from '@breakwater/runtime/errors';
import { eachElement, eachMember, type Span, spanAt } from '@breakwater/contracts/json-spans';

export interface Refusal {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly message: string;
}

/** One event of a request that may be accepted. */
export interface EventDraft {
  readonly kind: 'event';
  readonly eventId: string;
  readonly type: string;
  /** ms since the epoch. */
  readonly occurredAt?: number;
  /** `data` as the publisher wrote it. */
  readonly data: Buffer;
}

export type Draft = EventDraft | (Refusal & { readonly eventId: string | null });

/**
 * Reads the body of a request to publish. The whole request is refused when it is not JSON of one of the two shapes;
 * an event that is wrong by itself is refused by itself. Messages never quote a value.
 */
export function readPublished(body: Buffer): Refusal | { readonly kind: 'events'; readonly events: Draft[] } {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body); // also drops a byte order mark
    value = JSON.parse(text);
  } catch {
    return refuse('body_unparsable', 'The body is not valid JSON in UTF-8.'); // the parser's message would quote it
  }
  if (!isObject(value)) return refuse('request_invalid', `The body is not an object. ${SHAPES}`);
  if (!Object.hasOwn(value, 'events'))
    return { kind: 'events', events: [draftOf(text, spanAt(text, 0), value)] };

  const lists = [...eachMember(text, 0)].flatMap(([name, span]) => (name === 'events' ? [span] : []));
  const [list] = lists;
  if (list === undefined || lists.length > 1)
    return refuse('request_invalid', `The list "events" is there more than once. ${SHAPES}`);
  const events = value['events'];
  if (!Array.isArray(events) || Object.keys(value).length > 1)
    return refuse(
      'request_invalid',
      `A batch is an object with the list "events" and nothing else. ${SHAPES}`,
    );
  if (events.length < 1 || events.length > PUBLISH_LIMITS.events) {
    return refuse(
      'request_invalid',
      `The batch holds ${events.length} events; 1 to ${PUBLISH_LIMITS.events} are taken at once. Send it in parts.`,
    );
  }
  const spans = [...eachElement(text, list.start)];
  return { kind: 'events', events: spans.map((span, index) => draftOf(text, span, events[index])) };
}

const SHAPES = 'Send {"id","type","data"} or {"events":[{"id","type","data"}, ...]}.';

function draftOf(text: string, span: Span, value: unknown): Draft {
  const eventId = isObject(value) && typeof value['id'] === 'string' ? value['id'] : null;
  const checked = PublishedEvent.safeParse(value);
  if (!checked.success)
    return { ...refuse('request_invalid', sentence(checked.error.issues)), eventId: shown(eventId) };
  const { id, type, occurredAt } = checked.data;
  const members = [...eachMember(text, span.start)];
  // JSON.parse takes the last of them, and the publisher, or who reads its log, may mean the first.
  const names = members.map(([name]) => name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    return {
      ...refuse('request_invalid', `${repeated}: it is there more than once. Publish the event with one.`),
      // Which of two ids is meant nobody can say.
      eventId: repeated === 'id' ? null : id,
    };
  const at = members.find(([name]) => name === 'data')?.[1];
  if (at === undefined) return { ...refuse('request_invalid', 'data: it is missing.'), eventId: id };
  if (at.depth > PUBLISH_LIMITS.dataDepth) {
    const message = `data is nested ${at.depth} levels deep; ${PUBLISH_LIMITS.dataDepth} are taken.`;
    return { ...refuse('request_invalid', message), eventId: id };
  }
  const data = Buffer.from(text.slice(at.start, at.end));
  if (data.length > PUBLISH_LIMITS.dataBytes) {
    const message = `data holds ${data.length} bytes; ${PUBLISH_LIMITS.dataBytes} are taken. Publish a reference to it instead.`;
    return { ...refuse('body_too_large', message), eventId: id };
  }
  return {
    kind: 'event',
    eventId: id,
    type,
    data,
    ...(occurredAt !== undefined && { occurredAt: Date.parse(occurredAt) }),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const SHOWN_MAX = 512;

/** An id that was refused, to be recognised by: a megabyte of it need not go back. */
const shown = (eventId: string | null): string | null =>
  eventId === null ? null : eventId.slice(0, SHOWN_MAX).toWellFormed();

/** Unknown members are named in the schema's messages, and a name is text from outside, of any length. */
function sentence(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string {
  const mistakes = issues.map(({ path, message }) =>
    path[0] === 'data' ? 'data: it is missing' : `${path.map(String).join('.') || 'event'}: ${message}`,
  );
  return `${mistakes.join('; ').slice(0, SHOWN_MAX)}. Correct the event and publish it again.`;
}

const refuse = (code: ErrorCode, message: string): Refusal => ({ kind: 'refused', code, message });
