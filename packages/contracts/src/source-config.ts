import { z } from 'zod';
import { applyPreset, PresetName, unverifiedFacts } from './presets.ts';
import { operatorName } from './operator.ts';
import { Answers } from './source-answers.ts';
import { Check, MAX_SELECTED_SECRETS } from './source-check.ts';
import { coverageOf, isSigned } from './source-coverage.ts';
import { Challenge, METHODS, Ping } from './source-handshake.ts';
import { expressions, pointer, saidByBranch } from './source-parts.ts';
import { checkSource } from './source-rules.ts';

const instant = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], 'expected a time such as 2030-01-31T12:00:00Z')
  .transform((text) => Date.parse(text));

const Secret = z
  .strictObject({
    /** Names the secret in logs and metrics; never the secret itself. */
    id: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'expected letters, digits, _ or -'),
    value: z.string().min(1, 'a secret must not be empty: anybody could sign with it'),
    /** What the provider calls this key, where requests name their key; the id by default. */
    keyId: z.string().min(1).max(256).optional(),
    /** A rotation with a fixed end: outside this window the secret does not count. ms since the epoch once read. */
    notBefore: instant.optional(),
    notAfter: instant.optional(),
  })
  .refine(
    ({ notBefore, notAfter }) => notBefore === undefined || notAfter === undefined || notBefore < notAfter,
    'notBefore must be earlier than notAfter, or the secret never counts',
  );
export type Secret = z.infer<typeof Secret>;

const MAX_BODY_BYTES = 25 * 1024 * 1024; // GitHub and GitLab send up to 25 MiB
const bodyBytes = z.int().min(1).max(MAX_BODY_BYTES);

const RequestRules = z.strictObject({
  methods: z.array(z.enum(METHODS)).min(1).default(['POST']),
  /** Media types that are taken, without parameters; any by default. */
  contentTypes: z
    .array(z.string().regex(/^[^\s;,/]+\/[^\s;,/]+$/, 'expected a media type such as application/json'))
    .min(1)
    .transform((types) => types.map((type) => type.toLowerCase()))
    .optional(),
  /** Content encodings that are taken; none by default, because a small upload can inflate to a large one. */
  encodings: z.array(z.enum(['gzip'])).default([]),
  /** What a compressed request's signature is over: the bytes as received, or as decoded. */
  signedBytes: z.enum(['received', 'decoded']).optional(),
  /** URL as the provider knows it. From configuration, never from a Host header, which is the sender's. */
  publicUrl: z.url({ protocol: /^https?$/, error: 'expected an http(s) URL' }).optional(),
});

const Batch = z.strictObject({
  /** Where the list of items is; `''` where the body itself is the list. */
  pointer,
  /** Within an element, where the item is. */
  item: pointer.default(''),
  /** Items of one delivery; each costs a look-up and a Redis command. */
  max: z.int().min(1).max(1_000).default(100),
  /** What a verified delivery without items is answered with. */
  empty: z.enum(['ack', 'reject']).default('reject'),
  signature: z.enum(['delivery', 'perItem']).default('delivery'),
});
export type Batch = z.infer<typeof Batch>;

export const PARSE_FORMATS = ['json', 'form', 'xml', 'text', 'none'] as const;
const Parse = z.strictObject({
  /** Pointers look into `json`, and into `form` by field name; `xml`, `text` and `none` are taken as bytes. */
  format: z.enum(PARSE_FORMATS).default('json'),
  /** Field of a form that holds the document, as JSON. */
  formField: z.string().min(1).optional(),
});

export const REPLAY_KEYS = ['signature', 'body', 'none'] as const;

const SourceShape = z.strictObject({
  /** Data of a known provider; what is written beside it wins. */
  preset: PresetName.optional(),
  operator: operatorName.default('default'),
  /** Any of these may match, so that a rotation can overlap. At most 10, which bounds the work for one request. */
  secrets: z.array(Secret).max(MAX_SELECTED_SECRETS).default([]),
  auth: z
    .union([Check, z.array(Check).min(1).max(10)], { error: saidByBranch })
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .optional(),
  /** `any`: one check that passes is enough. */
  authMode: z.enum(['all', 'any']).default('all'),
  request: RequestRules.prefault({}),
  /** Values that are signed but no secret, such as PayPal's webhook id. */
  values: z.record(z.string(), z.string()).default({}),
  batch: Batch.optional(),
  eventId: expressions.optional(),
  /** Worked out from `auth` where it is left out. `true` that is not so is refused. */
  eventIdSigned: z.boolean().optional(),
  /**
   * What may pass once where the id can be changed: the signed content (`signature`), or the body. One captured request
   * under ever new ids would be as many events otherwise.
   */
  replayKey: z.enum(REPLAY_KEYS).optional(),
  onMissingId: z.enum(['reject', 'hash', 'undeduped']).default('reject'),
  /** `none`: every delivery is an event, for providers that say only "look at tr_1 again". */
  dedupe: z.enum(['event', 'none']).default('event'),
  type: expressions.optional(),
  entity: expressions.optional(),
  maxBodyBytes: bodyBytes.default(1024 * 1024),
  parse: Parse.prefault({}),
  /** `accept`: an authentic body that cannot be read is kept as an unrouted event instead of being refused. */
  onUnparsable: z.enum(['reject', 'accept']).default('reject'),
  answers: Answers,
  challenges: z.array(Challenge).max(5).default([]),
  pings: z.array(Ping).max(5).default([]),
});
export type SourceShape = z.infer<typeof SourceShape>;

export const Source = z.preprocess(
  applyPreset,
  // A transform, because refinements run on values that were not read yet where some other setting is wrong.
  SourceShape.transform((shape, context) => {
    checkSource(shape, context);
    const { auth = [], eventId = [], eventIdSigned, replayKey, ...source } = shape;
    const coverage = coverageOf(shape);
    const signed = eventIdSigned ?? eventId.every((expression) => isSigned(expression, coverage));
    return {
      ...source,
      auth,
      eventId,
      eventIdSigned: signed,
      replayKey: replayKey ?? (signed ? ('none' as const) : ('signature' as const)),
      /** Facts about the provider that nobody has confirmed; `config check` shows them. */
      unverified: unverifiedFacts(source.preset),
    };
  }),
);
export type Source = z.infer<typeof Source>;
