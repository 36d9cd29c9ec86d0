import type { Check, SignatureCheck } from './source-check.ts';
import { bodyFormOf, type Expression, type Locator, type SignedPart } from './source-parts.ts';

/** What of a source decides which texts its signatures cover. */
export interface Coverage {
  readonly checks: readonly Check[];
  readonly mode: 'all' | 'any';
  /** Signatures are of one item each, and cover only the values that they name. */
  readonly perItem: boolean;
  /** Field of a form that holds the document, which is all that is read of the body. */
  readonly formField: string | undefined;
}

export const coverageOf = (source: {
  readonly auth?: readonly Check[] | undefined;
  readonly authMode: 'all' | 'any';
  readonly batch?: { readonly signature: string } | undefined;
  readonly parse: { readonly formField?: string | undefined };
}): Coverage => ({
  checks: source.auth ?? [],
  mode: source.authMode,
  perItem: source.batch?.signature === 'perItem',
  formField: source.parse.formField,
});

export const signatureChecks = (checks: readonly Check[]): SignatureCheck[] =>
  checks.filter((check): check is SignatureCheck => check.kind === 'signature');

/** Does the check say that the query carries a hash of the body, under the same condition as the signature of the URL? */
const bindsBody = (check: Check, when: SignatureCheck['when']): boolean =>
  check.kind === 'queryEquals' &&
  bodyFormOf(check.to) !== undefined &&
  check.when?.query === when?.query &&
  check.when?.present === when?.present;

/** True when a signature cannot stay valid for another body. */
export function coversBody(check: SignatureCheck, { checks, mode }: Coverage): boolean {
  return check.signed.every(
    (parts) =>
      parts.some((part) => bodyFormOf(part) !== undefined) ||
      (mode === 'all' &&
        parts.some((part) => typeof part === 'object' && 'url' in part && part.url !== 'configured') &&
        checks.some((other) => bindsBody(other, check.when))),
  );
}

/**
 * A CRC-32 finds errors, not forgers: whoever has one signed body can write another with the same sum. So nothing in such
 * a body counts as signed, and a replay key lets each signed content pass once.
 */
const isForgeable = (check: SignatureCheck): boolean =>
  check.signed.some((parts) => {
    const forms = parts.map((part) => bodyFormOf(part)).filter((form) => form !== undefined);
    return forms.length > 0 && forms.every((form) => form === 'crc32');
  });

/** True when a signature cannot stay valid for another document: that of the body, or of the form's one field. */
export function coversDocument(check: SignatureCheck, coverage: Coverage): boolean {
  if (coversBody(check, coverage)) return true;
  const { formField } = coverage;
  return (
    formField !== undefined &&
    check.signed.every((parts) =>
      parts.some((part) => typeof part === 'object' && 'form' in part && part.form === formField),
    )
  );
}

/**
 * True when nobody without a secret can change what the expression yields. A header that is not signed can be changed
 * by anybody who has one signed request.
 */
export function isSigned(expression: Expression, coverage: Coverage): boolean {
  if ('concat' in expression) return expression.concat.every((locator) => isSigned(locator, coverage));
  if ('sha256' in expression) {
    return expression.sha256.every(
      (part) => (typeof part === 'object' && 'literal' in part) || isPartSigned(part as SignedPart, coverage),
    );
  }
  return isPartSigned(expression, coverage);
}

function isPartSigned(part: SignedPart | Locator, coverage: Coverage): boolean {
  const signatures = signatureChecks(coverage.checks);
  if (signatures.length === 0) return false;
  const by = (check: SignatureCheck): boolean => {
    const isBody = typeof part === 'string' || 'body' in part;
    const isInBody = typeof part === 'object' && 'pointer' in part;
    if (isBody && !coverage.perItem && coversBody(check, coverage)) return !isForgeable(check);
    if (isInBody && !coverage.perItem && coversDocument(check, coverage)) return !isForgeable(check);
    return check.signed.every((parts) => parts.some((signed) => isSamePlace(signed, part)));
  };
  // Checks with a condition are alternatives: each must cover. Without one, all have passed, unless any is enough.
  const alternatives = coverage.mode === 'any' || signatures.some((check) => check.when !== undefined);
  const noOtherWay = coverage.mode === 'all' || coverage.checks.every((check) => check.kind === 'signature');
  return noOtherWay && (alternatives ? signatures.every(by) : signatures.some(by));
}

function isSamePlace(signed: SignedPart, part: SignedPart | Locator): boolean {
  if (typeof signed !== 'object' || typeof part !== 'object') return false;
  if ('header' in signed) return 'header' in part && signed.header === part.header;
  if (!('pointer' in signed) || !('pointer' in part) || signed.pointer !== part.pointer) return false;
  return !('in' in part) || part.in === undefined || part.in === 'item'; // what is signed is the item's
}
