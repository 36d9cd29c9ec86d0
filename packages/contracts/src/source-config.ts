import { z } from 'zod';
import { duration } from './duration.ts';
import { parsePointer } from './pointer.ts';

/** Header names are compared in lower case, as Node delivers them. */
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'expected an HTTP header name')
  .transform((name) => name.toLowerCase());

export const pointer = z
  .string()
  .refine((text) => parsePointer(text) !== undefined, 'expected a JSON pointer (RFC 6901) such as /data/id');

/** Where one piece of text is in a request. The first locator that yields a non-empty text wins. */
const Locator = z.union([z.strictObject({ header: headerName }), z.strictObject({ pointer })]);
export type Locator = z.infer<typeof Locator>;

const locators = z
  .union([Locator, z.array(Locator).min(1)])
  .transform((value) => (Array.isArray(value) ? value : [value]));

/** A part of the signed content; the parts are joined without a separator, so write the separators as literals. */
const SignedPart = z.union([
  z.literal('body'),
  z.literal('timestamp'),
  z.strictObject({ literal: z.string() }),
  z.strictObject({ header: headerName }),
]);
export type SignedPart = z.infer<typeof SignedPart>;

const SignatureCheck = z
  .strictObject({
    kind: z.literal('signature'),
    algorithm: z.enum(['hmac-sha1', 'hmac-sha256', 'hmac-sha512']),
    signature: z.strictObject({
      header: headerName,
      /** Text before the encoded signature, `sha256=`. A header without it is refused. */
      prefix: z.string().default(''),
      encoding: z.enum(['hex', 'base64']),
    }),
    /** How the secret's text becomes key bytes. */
    key: z.enum(['utf8', 'hex', 'base64']).default('utf8'),
    timestamp: z
      .strictObject({
        header: headerName,
        unit: z.enum(['s', 'ms']).default('s'),
        tolerance: duration.default(300_000),
      })
      .optional(),
    signed: z.array(SignedPart).min(1).default(['body']),
  })
  .refine(
    (check) => check.signed.includes('body'),
    'signed must contain body, or anybody could change the payload',
  )
  .refine(
    (check) => !check.signed.includes('timestamp') || check.timestamp !== undefined,
    'signed contains timestamp, so say where the timestamp is',
  )
  .refine((check) => {
    if (check.timestamp === undefined) return true;
    const { header } = check.timestamp;
    return check.signed.some(
      (part) =>
        part === 'timestamp' || (typeof part === 'object' && 'header' in part && part.header === header),
    );
  }, 'a timestamp that is not signed proves nothing: add it to signed');
export type SignatureCheck = z.infer<typeof SignatureCheck>;

const Secret = z.strictObject({
  /** Names the secret in logs and metrics; never the secret itself. */
  id: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'expected letters, digits, _ or -'),
  value: z.string().min(1, 'a secret must not be empty: anybody could sign with it'),
});

const Answer = z.strictObject({
  status: z.int().min(200).max(599),
  body: z.string().optional(),
  contentType: z.string().default('text/plain; charset=utf-8'),
});
export type Answer = z.infer<typeof Answer>;

/** Sources may override these answers; some providers insist on a status or a body. */
export const ANSWER_KINDS = ['accepted', 'duplicate', 'signature', 'rejected', 'unavailable'] as const;
export type AnswerKind = (typeof ANSWER_KINDS)[number];

const MAX_BODY_BYTES = 25 * 1024 * 1024; // GitHub and GitLab send up to 25 MiB

export const Source = z
  .strictObject({
    operator: z.string().min(1).default('default'),
    /** Any of these may match, so that a rotation can overlap. At most 10, which bounds the work for one request. */
    secrets: z.array(Secret).min(1).max(10),
    auth: SignatureCheck,
    eventId: locators,
    type: locators.optional(),
    entity: locators.optional(),
    maxBodyBytes: z
      .int()
      .min(1)
      .max(MAX_BODY_BYTES)
      .default(1024 * 1024),
    onUnparsable: z.enum(['reject', 'accept']).default('reject'),
    answers: z.partialRecord(z.enum(ANSWER_KINDS), Answer).default({}).superRefine(checkAnswers),
  })
  .transform((source) => ({ ...source, eventIdSigned: locatorsAreSigned(source.eventId, source.auth) }));
export type Source = z.infer<typeof Source>;

/** A success that does not look like one makes a storm; an outage that does loses events. */
function checkAnswers(answers: Partial<Record<AnswerKind, Answer>>, context: z.core.$RefinementCtx): void {
  for (const kind of ANSWER_KINDS) {
    const status = answers[kind]?.status;
    if (status === undefined) continue;
    const success = status >= 200 && status <= 299;
    const expected =
      kind === 'accepted' || kind === 'duplicate'
        ? success
          ? undefined
          : '2xx, or the provider repeats what was taken'
        : kind === 'unavailable'
          ? status >= 500
            ? undefined
            : '5xx: many providers never repeat anything else, and the event would be lost'
          : success
            ? '3xx to 5xx, or the provider takes a refusal for a success'
            : undefined;
    if (expected !== undefined)
      context.addIssue({ code: 'custom', path: [kind, 'status'], message: `expected ${expected}` });
  }
}

/** A header that is not part of the signed content can be changed by anybody who has one signed request. */
function locatorsAreSigned(eventId: readonly Locator[], auth: SignatureCheck): boolean {
  return eventId.every(
    (locator) =>
      'pointer' in locator ||
      auth.signed.some(
        (part) => typeof part === 'object' && 'header' in part && part.header === locator.header,
      ),
  );
}
