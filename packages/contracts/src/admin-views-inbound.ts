import { z } from 'zod';
import { time } from './admin-views.ts';

/** What the admin API says of sources, of what ingest refused, of dead letters in groups and of breakers. */

export const SourceView = z
  .object({
    name: z.string(),
    operator: z.string(),
    preset: z.string().nullable(),
    observedSince: time.nullable().describe('When ingest first ran with it.'),
    lastSeenAt: time.nullable().describe('Latest request whose signature was right.'),
    lastAcceptedAt: time.nullable().describe('Latest request that brought a new event.'),
    silent: z.boolean().describe('It usually sends, and has gone quiet.'),
    patienceMs: z
      .int()
      .nullable()
      .describe('How long it may be quiet; null while what is usual is not known.'),
    expected: z.int().describe('Requests that usually come in a time such as the quiet one.'),
    secrets: z.array(
      z.object({
        id: z.string(),
        state: z.enum([
          'removable',
          'in_use',
          'only_one',
          'waiting',
          'unneeded',
          'expired',
          'not_yet',
          'unknown',
        ]),
        removable: z.boolean().describe('Nothing that a sender signs now would be refused without it.'),
        knownSince: time.nullable(),
        lastUsedAt: time.nullable(),
        notBefore: time.nullable(),
        notAfter: time.nullable(),
        insteadUsed: z.array(z.string()),
      }),
    ),
  })
  .meta({ id: 'Source' });

export const QuarantinedView = z
  .object({
    id: z.string(),
    source: z.string(),
    receivedAt: time,
    code: z.string().describe('Why ingest refused it.'),
    message: z.string(),
    headers: z.array(z.string()).describe('Names; the values are shown nowhere.'),
    sizeBytes: z.int(),
  })
  .meta({ id: 'Quarantined' });

export const RetryOutcome = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('accepted'),
      events: z.array(z.object({ eventId: z.string(), deduped: z.boolean() })),
    }),
    z.object({ kind: z.literal('handshake') }).describe('A challenge or a ping, and no event: let go.'),
    z
      .object({ kind: z.literal('refused'), code: z.string(), message: z.string() })
      .describe('Still not right by the configuration of today; it stays.'),
  ])
  .meta({ id: 'RetryOutcome' });

export const QuarantinedDetail = QuarantinedView.extend({
  now: RetryOutcome.describe('What a retry would come to, by the configuration of today.'),
  slips: z
    .array(z.object({ kind: z.string(), says: z.string() }))
    .describe('Mistakes that would explain why its signature is wrong.'),
  body: z
    .object({ encoding: z.enum(['utf8', 'base64']), text: z.string() })
    .optional()
    .describe('Only with ?body=true, and with secrets masked. Untrusted: never take it for markup.'),
}).meta({ id: 'QuarantinedDetail' });

export const DeadLetterGroup = z
  .object({
    destination: z.object({ kind: z.enum(['endpoint', 'erp']), id: z.string(), name: z.string() }),
    failureClass: z
      .string()
      .nullable()
      .describe('Of the latest attempt; null where none was made, such as for a removed endpoint.'),
    count: z.int().describe('Exact at the moment of reading.'),
    oldestAt: time,
    newestAt: time,
    remedy: z.string(),
  })
  .meta({ id: 'DeadLetterGroup' });

export const BreakerView = z
  .object({
    target: z.string(),
    state: z.enum(['closed', 'half_open', 'open']),
    forced: z.boolean().describe('Opened by a person, and stays so until a person closes it.'),
    waitMs: z.int().describe('Until the next probe; 0 unless open by itself.'),
    waiting: z
      .int()
      .nullable()
      .describe('Deliveries of all operators that wait at the target; null for a token of one operator.'),
  })
  .meta({ id: 'Breaker' });
