import type { Check, SignatureCheck } from '@breakwater/contracts/source-check';
import type { Source } from '@breakwater/contracts/source-config';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { documentOf } from './document.ts';
import { type CheckInput, readSignatures } from './given-signatures.ts';
import type { SignedRequest } from './headers.ts';
import { splitDelivery } from './items.ts';
import { decodeKeys, isCurrent, secretsOf, type SigningKey } from './keys.ts';
import { matchingSecrets } from './match-signature.ts';
import { createSharedSecretCheck } from './shared-secret.ts';
import { type ContentPart, queryEquals, signedContent, type SignedContent } from './signed-content.ts';
import { checkTimestamp } from './timestamp.ts';
import { genuine, refused, type Refusal, repeated, secretsUsed, type Verdict } from './verdict.ts';
import { appliesTo } from './when.ts';

export { secretsUsed, type Verdict, type VerifyCode } from './verdict.ts';

type Timed = SignedRequest & { readonly nowMs: number };

/** `nowMs`: when the request arrived, ms since the epoch. */
export type Verifier = (request: Timed) => Verdict;

/** The verdict of one check, about a request or one item of it. `not_concerned`: the check's condition is not met. */
type CheckVerdict = Verdict | 'not_concerned';
type ReadyCheck = (input: CheckInput & { readonly request: Timed }) => CheckVerdict;

/**
 * Prepares the checks of a source's requests. Keys are decoded here, so a wrong one stops the start instead of refusing
 * events later. Throws AppError config_invalid that lists the mistakes of all checks.
 */
export function createVerifier(source: Source): Verifier {
  const checks: ReadyCheck[] = [];
  const mistakes: string[] = [];
  for (const check of source.auth) {
    try {
      checks.push(prepare(source, check));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      mistakes.push(messageOf(error));
    }
  }
  if (mistakes.length > 0) throw new AppError('config_invalid', mistakes.join('; '));
  const judge = source.authMode === 'all' ? judgeAll : judgeAny;
  if (source.batch?.signature !== 'perItem')
    return (request) => judge(checks, { request, document: documentOf(source.parse, request) });
  return (request) => {
    const split = splitDelivery(source, request);
    // No item is no proof: an empty list would otherwise pass without anybody having signed anything.
    if (!split.ok || split.items.length === 0)
      return refused('signature_missing', 'The body holds no item that could be signed. Send at least one.');
    const used = new Set<string>();
    for (const document of split.items) {
      const verdict = judge(checks, { request, document });
      if (!verdict.ok) return verdict;
      for (const id of secretsUsed(verdict)) used.add(id);
    }
    return genuine([...used]);
  };
}

const nothingApplied = (): Refusal =>
  refused('signature_missing', 'No check of this source concerns such a request. Sign it as configured.');

/** All that concern the request must pass, and at least one must. The first refusal is told. */
function judgeAll(checks: readonly ReadyCheck[], input: Parameters<ReadyCheck>[0]): Verdict {
  const used: string[] = [];
  let passed = false;
  for (const check of checks) {
    const verdict = check(input);
    if (verdict === 'not_concerned') continue;
    if (!verdict.ok) return verdict;
    passed = true;
    used.push(...secretsUsed(verdict));
  }
  return passed ? genuine(used) : nothingApplied();
}

/** One that passes is enough. Otherwise the refusal that says most: of a signature that was there. */
function judgeAny(checks: readonly ReadyCheck[], input: Parameters<ReadyCheck>[0]): Verdict {
  let refusal: Refusal | undefined;
  for (const check of checks) {
    const verdict = check(input);
    if (verdict === 'not_concerned') continue;
    if (verdict.ok) return verdict;
    if (refusal === undefined || refusal.code === 'signature_missing') refusal = verdict;
  }
  return refusal ?? nothingApplied();
}

function prepare(source: Source, check: Check): ReadyCheck {
  switch (check.kind) {
    case 'signature': {
      const keys = decodeKeys(source, check);
      return (input) =>
        appliesTo(check.when, input.request) ? verifySignature(source, check, keys, input) : 'not_concerned';
    }
    case 'sharedSecret': {
      const verify = createSharedSecretCheck(check, secretsOf(source, check));
      return ({ request }) => verify(request);
    }
    case 'queryEquals':
      return (input) => {
        if (!appliesTo(check.when, input.request)) return 'not_concerned';
        return queryEquals(check, input)
          ? { ok: true, secretId: '' }
          : refused('signature_invalid', `The query parameter ${check.name} does not match the body.`);
      };
  }
}

function verifySignature(
  source: Source,
  check: SignatureCheck,
  keys: readonly SigningKey[],
  input: Parameters<ReadyCheck>[0],
): Verdict {
  const given = readSignatures(check, input);
  if (!given.ok) return given;
  const contents = check.signed.map((variant) => signedContent(source, check, variant, input, given.fields));
  const variants = contents.flatMap((content): (readonly ContentPart[])[] =>
    content.ok ? [content.parts] : [],
  );
  if (variants.length === 0) return unsignable(contents);
  const { nowMs } = input.request;
  const current = keys.filter((key) => isCurrent(key, nowMs));
  // Our own trouble, which a provider must not take for a final answer.
  if (current.length === 0)
    return refused('unavailable', 'No secret of this source is in force at this time.');
  const matched = matchingSecrets(check.algorithm, current, variants, given.signatures);
  if (matched.length === 0) {
    const isKnown = given.signatures.some(
      ({ keyId }) => keyId === undefined || current.some((key) => key.keyId === keyId),
    );
    if (!isKnown)
      return refused(
        'signature_invalid',
        'The request names a key that no secret in force here has. Add it with its keyId, if the provider has a new one.',
      );
    return refused(
      'signature_invalid',
      'The signature does not match the bytes that arrived under any secret of this source. Sign the exact bytes of the body, and compare the secrets on both sides.',
    );
  }
  // After the signature, so that only who knows a secret learns about clocks, and the message is then about a genuine request.
  return checkTimestamp(check, input, given.fields, nowMs) ?? genuine(matched);
}

function unsignable(contents: readonly SignedContent[]): Refusal {
  const failed = contents.find((content) => !content.ok);
  if (failed === undefined || failed.ok) return nothingApplied();
  return failed.why === 'missing'
    ? refused(
        'signature_missing',
        `The ${failed.where} is missing, and it is part of what is signed. Send it.`,
      )
    : repeated(failed.where);
}
