import { z } from 'zod';
import { Answer } from './source-answers.ts';
import { headerName, pointer } from './source-parts.ts';

export const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'] as const;

/** Every condition that is given must hold. */
const Match = z
  .strictObject({
    method: z.enum(METHODS).optional(),
    query: z.strictObject({ name: z.string().min(1), equals: z.string().optional() }).optional(),
    header: z.strictObject({ name: headerName, equals: z.string().optional() }).optional(),
    pointer: z.strictObject({ at: pointer, equals: z.string().optional() }).optional(),
    /** A form body with exactly these fields. */
    formFields: z.array(z.string().min(1)).min(1).optional(),
  })
  .refine(
    (match) => Object.keys(match).length > 0,
    'say at least one condition, or every request would match',
  );
export type Match = z.infer<typeof Match>;

/**
 * A handshake: the provider asks whether the URL is ours and is answered with something of its own request. No event
 * comes of it.
 */
export const Challenge = z
  .strictObject({
    when: Match,
    /** The request must pass `auth` first. */
    verified: z.boolean(),
    /** The request must carry this token, as agreed with the provider. */
    token: z
      .strictObject({
        query: z.string().min(1),
        value: z.string().min(1, 'a token must not be empty').optional(),
        /** Instead of `value`: one of the source's `values`. */
        config: z.string().min(1).optional(),
      })
      .refine(
        ({ value, config }) => (value === undefined) !== (config === undefined),
        'give the token as value, or as config the name of one of the values',
      )
      .optional(),
    /** What to give back. */
    echo: z.union([z.strictObject({ query: z.string().min(1) }), z.strictObject({ pointer })]),
    /** Answers `{"<json>": echo}` instead of the text alone. */
    json: z.string().min(1).optional(),
  })
  .refine(
    ({ when }) => when.query !== undefined || when.pointer !== undefined || when.header !== undefined,
    'a challenge needs a query, pointer or header of its own in when, or it would swallow events',
  );
export type Challenge = z.infer<typeof Challenge>;

/**
 * Abuse protection of the CloudEvents web hooks (HTTP 1.1 Web Hooks for Event Delivery 1.0.2, section 4): before a sender
 * delivers it asks with OPTIONS whether it may. Consent is two headers; a status means nothing.
 */
export const AbuseProtection = z.strictObject({
  /** Senders that may deliver, as they call themselves in WebHook-Request-Origin; `*` for any. */
  origins: z.union([
    z.literal('*'),
    z
      .array(z.string().regex(/^[A-Za-z0-9*.:-]+$/, 'expected a DNS name such as eventemitter.example.com'))
      .min(1),
  ]),
  /** Requests a minute that a sender is told it may make. Nothing enforces it here. */
  rate: z.union([z.literal('*'), z.int().min(1)]).default('*'),
});

/** A test message: answered, never an event. */
export const Ping = z.strictObject({
  when: Match,
  verified: z.boolean().default(true),
  answer: Answer.prefault({ status: 200 }),
});
export type Ping = z.infer<typeof Ping>;
