import { z } from 'zod';

/** What one request to publish may hold. */
export const PUBLISH_LIMITS = {
  events: 1_000,
  /** `data` of one event, as UTF-8: what a webhook may be by default, since everything behind it is the same. */
  dataBytes: 1024 * 1024,
  /**
   * The whole request: 1,000 events of 4 KiB, or four of the largest. It is parsed in one piece, about 20 ms for each MiB,
   * and meanwhile no webhook is answered. A larger batch is simply sent as two.
   */
  requestBytes: 4 * 1024 * 1024,
  /** Levels in `data`: JSON.parse takes any, but whoever walks through it by recursion later would exhaust the stack. */
  dataDepth: 500,
} as const;

/** As webhooks' ids: it goes into records, headers and URLs. */
const ID_MAX = 512;
const TYPE_MAX = 256;

/** Half of a surrogate pair becomes U+FFFD in UTF-8, where two ids would become one and the second event be lost. */
const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => value.isWellFormed(), 'not valid Unicode: it holds half of a surrogate pair');

/** One event that an application publishes. Unknown members are refused: a misspelt `occurredAt` would be lost in silence. */
export const PublishedEvent = z
  .strictObject({
    id: text(ID_MAX).describe("The publisher's own id of the business fact. The same id is accepted once."),
    type: text(TYPE_MAX).describe('What routes and endpoints match on, such as order.paid.'),
    data: z
      .unknown()
      .describe(
        'Any JSON value; delivered byte for byte as it is written here. At most 1 MiB, 500 levels deep.',
      ),
    occurredAt: z.iso
      .datetime({ offset: true, error: 'expected a time with its zone, such as 2026-01-31T12:00:00Z' })
      .optional()
      .describe('When it happened (RFC 3339); the timestamp of the delivered envelope.'),
  })
  .meta({ id: 'Event' });

export const PublishRequest = z
  .union([
    PublishedEvent,
    z.strictObject({ events: z.array(PublishedEvent).min(1).max(PUBLISH_LIMITS.events) }),
  ])
  .meta({ id: 'PublishRequest' });

const PublishError = z.object({ code: z.string(), message: z.string() }).meta({ id: 'Error' });

/** What became of one event. `eventId` is null where the event holds no text in `id`. */
export const PublishResult = z
  .union([
    z.object({ eventId: z.string(), deduped: z.boolean().describe('It had been accepted before.') }),
    z.object({ eventId: z.string().nullable(), error: PublishError }),
  ])
  .meta({ id: 'Result' });
export type PublishResult = z.infer<typeof PublishResult>;

const results = z.array(PublishResult).describe('One for each event, in the order of the request.');

export const PublishAnswer = z.object({ ok: z.literal(true), results }).meta({ id: 'Published' });
export const PublishRefusal = z
  .object({ ok: z.literal(false), error: PublishError, results: results.optional() })
  .meta({ id: 'Refused' });
