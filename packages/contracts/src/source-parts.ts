import { z } from 'zod';
import { parsePointer } from './pointer.ts';

/** Header names are compared in lower case, as Node delivers them. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'expected an HTTP header name')
  .transform((name) => name.toLowerCase());

export const pointer = z
  .string()
  .refine((text) => parsePointer(text) !== undefined, 'expected a JSON pointer (RFC 6901) such as /data/id');

/** Forms of the body that providers sign. `sortedForm`: each field's name and value, by name, as Twilio does. */
export const BODY_FORMS = ['raw', 'base64', 'sha256hex', 'crc32', 'sortedForm'] as const;
const BodyPart = z.strictObject({ body: z.enum(BODY_FORMS) });

/**
 * `configured`: request.publicUrl to the byte. `requested`: request.publicUrl and the query of the request.
 * `requestedWithPort`: that with the default port written out, for providers that sign it so.
 */
const UrlPart = z.strictObject({ url: z.enum(['configured', 'requested', 'requestedWithPort']) });

const HeaderPart = z.strictObject({ header: headerName });
const LiteralPart = z.strictObject({ literal: z.string() });
/** `or` is signed where the document has nothing at the pointer. */
const PointerPart = z.strictObject({ pointer, or: z.string().optional() });

/** A part of the signed content. Bytes are joined as they are; nothing is escaped, and nothing is re-serialised. */
export const SignedPart = z.union([
  z.enum(['body', 'timestamp', 'method', 'secret']),
  BodyPart,
  LiteralPart,
  HeaderPart,
  PointerPart,
  UrlPart,
  /** A field of the signature itself: `t` in `t=1700000000,v1=…`. */
  z.strictObject({ field: z.string().min(1) }),
  /** A field of a form body, decoded. */
  z.strictObject({ form: z.string().min(1) }),
  /** One of the source's `values`. */
  z.strictObject({ config: z.string().min(1) }),
]);
export type SignedPart = z.infer<typeof SignedPart>;

/** What a pointer looks into: the item of a batch, the element of the batch's list that holds it, or the whole body. */
const scope = z.enum(['item', 'element', 'delivery']).optional();
export type Scope = z.infer<typeof scope>;

/** Where one piece of text is in a request. */
const ScopedPointer = z.strictObject({ pointer, in: scope });
const Locator = z.union([HeaderPart, ScopedPointer]);
export type Locator = z.infer<typeof Locator>;

/**
 * How a text is found or made. `concat` needs every one of its pieces; the separator is escaped inside them, so that
 * two different lists never yield one text. `sha256` hashes named parts, each with its length.
 */
const Expression = z.union([
  HeaderPart,
  ScopedPointer,
  z.strictObject({ concat: z.array(Locator).min(2).max(10), separator: z.string().length(1).default(':') }),
  z.strictObject({
    sha256: z
      .array(
        z.union([z.literal('body'), BodyPart, LiteralPart, HeaderPart, PointerPart.extend({ in: scope })]),
      )
      .min(1),
  }),
]);
export type Expression = z.infer<typeof Expression>;

/** The first expression that yields a text that is not empty wins. */
export const expressions = z
  .union([Expression, z.array(Expression).min(1)], { error: saidByBranch })
  .transform((value) => (Array.isArray(value) ? value : [value]));

/** For "one or a list of them": the mistakes of what was written, where Zod would only say that neither fits. */
export function saidByBranch(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_union') return undefined;
  const branch = Array.isArray(issue.input) ? issue.errors.at(-1) : issue.errors[0];
  return branch?.map(({ path, message }) => [...path.map(String), message].join(': ')).join('; ');
}

type ExpressionPart = Locator | Extract<Expression, { sha256: unknown }>['sha256'][number];

/** The parts that an expression is made of, itself where it is one. */
export function partsOf(expression: Expression): readonly ExpressionPart[] {
  if ('concat' in expression) return expression.concat;
  return 'sha256' in expression ? expression.sha256 : [expression];
}

/** Does what the expression yields depend on the item? Headers are those of the whole delivery. */
export const isOfItem = (expression: Expression): boolean =>
  partsOf(expression).some(
    (part) =>
      part === 'body' ||
      'body' in part ||
      ('pointer' in part && (part.in === undefined || part.in === 'item')),
  );

/** Which form of the body a part is, or undefined when it is none. */
export function bodyFormOf(part: SignedPart): (typeof BODY_FORMS)[number] | undefined {
  if (part === 'body') return 'raw';
  return typeof part === 'object' && 'body' in part ? part.body : undefined;
}
