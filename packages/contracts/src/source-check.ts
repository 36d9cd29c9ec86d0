import { z } from 'zod';
import { duration } from './duration.ts';
import { headerName, pointer, SignedPart } from './source-parts.ts';

/** Any of these may match per request; more would be an attacker's way to make us hash (the rule of work). */
export const MAX_SECRETS = 10;
/** Where the request names its key only that one is tried, so there may be more (Klarna: 50). */
export const MAX_SELECTED_SECRETS = 50;
const MAX_VARIANTS = 4;

/** Separators are one character, so that there is only one way to take a header apart. */
const token = z.string().length(1, 'expected one character');

const List = z.strictObject({
  separator: token,
  /** Between name and value of an entry: `=` in `t=1,v2=…`. What comes after the first one is the value. */
  keyValue: token.optional(),
  /** Name of the entries that are signatures: `v1`. Without it the name is a key id, see `keyId: list`. */
  pick: z.string().min(1).optional(),
  /** Removes spaces around entries. */
  trim: z.boolean().default(false),
});

const SignaturePlace = z
  .strictObject({
    header: headerName.optional(),
    /** `x-docusign-signature-*`: every header of such a name holds one signature. */
    headerPattern: z
      .string()
      .regex(/^[A-Za-z0-9-]+-\*$/, 'expected a header name that ends in -*, such as x-signature-*')
      .transform((text) => text.toLowerCase())
      .optional(),
    pointer: pointer.optional(),
    /** Field of a form body. */
    form: z.string().min(1).optional(),
    list: List.optional(),
    /** Text before the encoded signature, `sha256=`. A signature without it is refused. */
    prefix: z.string().default(''),
    encoding: z.enum(['hex', 'base64']),
  })
  .refine(
    ({ header, headerPattern, pointer: at, form }) =>
      [header, headerPattern, at, form].filter((place) => place !== undefined).length === 1,
    'say where the signature is, with exactly one of header, headerPattern, pointer, form',
  )
  .refine(
    ({ list }) => list?.pick === undefined || list.keyValue !== undefined,
    'list.pick names an entry, so set list.keyValue to what is between its name and its value',
  );

const Timestamp = z
  .strictObject({
    header: headerName.optional(),
    /** Field of the signature: `t` in `t=1700000000,v1=…`. */
    field: z.string().min(1).optional(),
    pointer: pointer.optional(),
    unit: z.enum(['s', 'ms', 'iso']).default('s'),
    /** How old a request may be. */
    tolerance: duration.default(300_000),
    /** How far in the future it may be dated; as `tolerance` by default. */
    futureTolerance: duration.optional(),
    /** Always. A timestamp that may be left out protects nothing: whoever replays leaves it out. */
    required: z.literal(true, 'a timestamp that may be left out protects nothing').default(true),
  })
  .refine(
    ({ header, field, pointer: at }) =>
      [header, field, at].filter((place) => place !== undefined).length === 1,
    'say where the timestamp is, with exactly one of header, field, pointer',
  );

/** Narrows a check to requests that have, or lack, a query parameter. Only useful where the URL is signed. */
const When = z.strictObject({ query: z.string().min(1), present: z.boolean() });

/** Ids of the secrets that a check uses; all of them by default. */
const secrets = z.array(z.string().min(1)).min(1).optional();

export const KEY_ENCODINGS = ['utf8', 'hex', 'base64', 'spki-base64', 'spki-pem', 'ed25519-base64'] as const;
export type KeyEncoding = (typeof KEY_ENCODINGS)[number];

const SignatureCheck = z.strictObject({
  kind: z.literal('signature'),
  algorithm: z.enum([
    'hmac-sha1',
    'hmac-sha256',
    'hmac-sha512',
    /** A plain hash in which the secret is a part: HubSpot v1 and v2. */
    'sha256-concat',
    'ed25519',
    'ecdsa-p256-sha256',
    'rsa-sha256',
  ]),
  signature: SignaturePlace,
  /** How the secret's text becomes a key. `spki-pem` takes a certificate as well. */
  key: z.enum(KEY_ENCODINGS).default('utf8'),
  /** Text before the encoded key, `whsec_`; removed, and a secret without it is refused. */
  keyPrefix: z.string().default(''),
  /** The request names its key: in a header, or before each signature of the list. Compared with secrets' keyId. */
  keyId: z.union([z.strictObject({ header: headerName }), z.literal('list')]).optional(),
  timestamp: Timestamp.optional(),
  /** Parts of the signed content, or several lists of parts: any may be what the provider signed. */
  signed: z
    .union([z.array(SignedPart).min(1), z.array(z.array(SignedPart).min(1)).min(1).max(MAX_VARIANTS)])
    .default(['body'])
    .transform((value): SignedPart[][] =>
      value.every((part) => Array.isArray(part))
        ? value
        : [value.filter((part): part is SignedPart => !Array.isArray(part))],
    ),
  /** Between the parts. */
  join: z.string().default(''),
  when: When.optional(),
  secrets,
});
export type SignatureCheck = z.infer<typeof SignatureCheck>;

const SharedSecretCheck = z
  .strictObject({
    kind: z.literal('sharedSecret'),
    /** `basic`: the secret is `user:password`. */
    in: z.enum(['header', 'basic', 'bearer', 'query']),
    /** Name of the header or of the query parameter. */
    name: z.string().min(1).optional(),
    secrets,
  })
  .refine(
    (check) => (check.in === 'header' || check.in === 'query') === (check.name !== undefined),
    'name belongs to in: header and in: query, and is needed there',
  )
  .transform((check) =>
    check.in === 'header' && check.name !== undefined ? { ...check, name: check.name.toLowerCase() } : check,
  );
export type SharedSecretCheck = z.infer<typeof SharedSecretCheck>;

/** A query parameter that must equal a part, where the URL is signed and carries a hash of the body. */
const QueryEqualsCheck = z.strictObject({
  kind: z.literal('queryEquals'),
  name: z.string().min(1),
  to: SignedPart,
  when: When.optional(),
});
export type QueryEqualsCheck = z.infer<typeof QueryEqualsCheck>;

export const Check = z.discriminatedUnion('kind', [SignatureCheck, SharedSecretCheck, QueryEqualsCheck]);
export type Check = z.infer<typeof Check>;
