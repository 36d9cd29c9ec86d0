import { hash } from 'node:crypto';
import type { Check, SignatureCheck } from '@breakwater/contracts/source-check';
import { AppError } from '@breakwater/runtime/errors';
import { documentOf } from './document.ts';
import { type CheckInput, readSignatures } from './given-signatures.ts';
import { splitDelivery } from './items.ts';
import { isCurrent, secretsOf } from './keys.ts';
import { secretMask } from './secret-mask.ts';
import { type ContentPart, signedContent } from './signed-content.ts';
import { bodyTrials, settingTrials, type Slip, type Sources, type Trial } from './slips.ts';
import { signedAtMs } from './timestamp.ts';
import { createVerifier, type Verdict } from './verify.ts';
import { appliesTo } from './when.ts';

/** The bytes that a signature must be over. Secrets are no part of it, and are masked in what is shown. */
export interface SignedBytes {
  readonly sizeBytes: number;
  readonly sha256: string;
  /** The first and the last bytes; `last` is empty where `first` shows all. One character for each byte. */
  readonly first: string;
  readonly last: string;
}

/** What one check of the source made of the request. */
export interface CheckReport {
  readonly kind: Check['kind'];
  readonly algorithm?: SignatureCheck['algorithm'];
  readonly result: 'passed' | 'refused' | 'not_concerned';
  /** Why it was refused. */
  readonly message?: string;
  /** One for each form that may be signed, of each item where items are signed; of the first few. */
  readonly signed: readonly SignedBytes[];
  /** Ids only. */
  readonly secrets: readonly { readonly id: string; readonly inForce: boolean }[];
  /** When the request says that it was signed, ms since the epoch. */
  readonly signedAt?: number;
}

export interface Explanation {
  readonly verdict: Verdict;
  readonly checks: readonly CheckReport[];
  /** Mistakes that, undone, would make the signature right. Empty where it is, or where none was found. */
  readonly slips: readonly Pick<Slip, 'kind' | 'says'>[];
}

type Mask = ReturnType<typeof secretMask>;

/** A person reads them; where more than these fit, they say the same in other words. */
const MAX_SLIPS = 3;
const MAX_SIGNED = 10;
/** Bytes shown of each end. */
const SHOWN = 60;
/** Two mistakes at once are looked for in bodies up to this size: some 1,000 hashes of it. */
const PAIRS_MAX_BYTES = 256 * 1024;

/**
 * Verifies a request as ingest does, and says why it failed: what must be signed, which secrets were tried, and which
 * likely mistake would explain it. Holds no secret and no signature that was worked out here. Throws AppError
 * config_invalid where a secret of the source cannot be used.
 */
export function explainRequest(sources: Sources, name: string, trial: Trial): Explanation {
  const verdict = createVerifier(trial.source)(copyOf(trial));
  const mask = secretMask([trial.source, ...Object.values(sources)]);
  const checks = trial.source.auth.map((check) => reportOf(trial, check, mask));
  if (verdict.ok || verdict.code === 'unavailable') return { verdict, checks, slips: slipsOfClock(trial) };
  const slips = [...slipsOfClock(trial), ...findSlips(sources, name, trial, verdict.code)];
  return { verdict, checks, slips: slips.slice(0, MAX_SLIPS) };
}

/** Documents are remembered by request, and another source reads a request in another way. */
const copyOf = ({ request }: Trial): Trial['request'] => ({ ...request });

function findSlips(
  sources: Sources,
  name: string,
  trial: Trial,
  code: string,
): readonly Pick<Slip, 'kind' | 'says'>[] {
  const found = new Map<string, Pick<Slip, 'kind' | 'says'>>();
  const note = ({ says, kind }: Slip, first?: Slip): void => {
    const said = first === undefined ? says : `${first.says} And: ${says}`;
    found.set(said, { kind, says: said });
  };
  for (const slip of singles(sources, name, trial)) {
    if (found.size < MAX_SLIPS && verifies(slip.trial, code)) note(slip);
  }
  if (found.size > 0 || trial.request.body.length > PAIRS_MAX_BYTES) return [...found.values()];
  // A capture often has a mistake of its own, such as the newline of an editor, beside the one that is looked for.
  for (const body of bodyTrials(trial)) {
    for (const slip of settingTrials(body.trial, name, sources)) {
      if (verifies(slip.trial, code)) {
        note(slip, body);
        return [...found.values()];
      }
    }
  }
  return [];
}

function* singles(sources: Sources, name: string, trial: Trial): Generator<Slip> {
  yield* bodyTrials(trial);
  yield* settingTrials(trial, name, sources);
}

/** The time is judged after the signature, so a refusal for the time says that the signature is right. */
function verifies(trial: Trial, code: string): boolean {
  try {
    const verdict = createVerifier(trial.source)(copyOf(trial));
    return verdict.ok || (code !== 'timestamp_out_of_tolerance' && isAboutTime(verdict));
  } catch (error) {
    // A secret that is no key in this reading.
    if (error instanceof AppError) return false;
    throw error;
  }
}

const isAboutTime = (verdict: Verdict): boolean =>
  !verdict.ok && verdict.code === 'timestamp_out_of_tolerance';

/** Would it verify at the time when it says that it was signed? */
function slipsOfClock(trial: Trial): readonly Pick<Slip, 'kind' | 'says'>[] {
  const { request, source } = trial;
  if (!isAboutTime(createVerifier(source)(copyOf(trial)))) return [];
  const times = source.auth.flatMap((check) => {
    const at = check.kind === 'signature' ? timeOf(trial, check) : undefined;
    return at === undefined ? [] : [at];
  });
  for (const at of new Set(times)) {
    if (!verifies({ source, request: { ...request, nowMs: at } }, 'timestamp_out_of_tolerance')) continue;
    const seconds = Math.round(Math.abs(request.nowMs - at) / 1_000);
    const side = request.nowMs > at ? 'before' : 'after';
    const says = `The signature is right, only the time is not: it was signed at ${new Date(at).toISOString()}, ${seconds} s ${side} the time it was judged by. For a capture, judge by the time of receipt.`;
    return [{ kind: 'timestamp', says }];
  }
  return [];
}

function inputsOf({ source }: Trial, request: Trial['request']): CheckInput[] {
  if (source.batch?.signature !== 'perItem')
    return [{ request, document: documentOf(source.parse, request) }];
  const split = splitDelivery(source, request);
  return split.ok ? split.items.map((document) => ({ request, document })) : [];
}

const MAX_TIME = 8.64e15; // of a Date, ECMA-262

function timeOf(trial: Trial, check: SignatureCheck): number | undefined {
  const [input] = inputsOf(trial, copyOf(trial));
  const given = input && readSignatures(check, input);
  const fields = given?.ok === true ? given.fields : new Map<string, string | null>();
  const at = input && signedAtMs(check, input, fields);
  return at !== undefined && at <= MAX_TIME ? at : undefined;
}

function reportOf(trial: Trial, check: Check, mask: Mask): CheckReport {
  const { source, request } = trial;
  const isConcerned = check.kind === 'sharedSecret' || appliesTo(check.when, request);
  const verdict = createVerifier({ ...source, auth: [check] })(copyOf(trial));
  const secrets = check.kind === 'queryEquals' ? [] : secretsOf(source, check);
  const signedAt = check.kind === 'signature' ? timeOf(trial, check) : undefined;
  return {
    kind: check.kind,
    ...(check.kind === 'signature' && { algorithm: check.algorithm }),
    result: isConcerned ? (verdict.ok ? 'passed' : 'refused') : 'not_concerned',
    ...(isConcerned && !verdict.ok && { message: verdict.message }),
    signed: check.kind === 'signature' && isConcerned ? signedOf(trial, check, mask) : [],
    secrets: secrets.map((secret) => ({ id: secret.id, inForce: isCurrent(secret, request.nowMs) })),
    ...(signedAt !== undefined && { signedAt }),
  };
}

function signedOf(trial: Trial, check: SignatureCheck, mask: Mask): SignedBytes[] {
  const shown: SignedBytes[] = [];
  for (const input of inputsOf(trial, copyOf(trial))) {
    const given = readSignatures(check, input);
    const fields = given.ok ? given.fields : new Map<string, string | null>();
    for (const variant of check.signed) {
      const content = signedContent(trial.source, check, variant, input, fields);
      if (content.ok) shown.push(describe(mask, content.parts));
      if (shown.length === MAX_SIGNED) return shown;
    }
  }
  return shown;
}

/** Masked before it is cut, so that no half of a secret is left. */
function describe(mask: Mask, parts: readonly ContentPart[]): SignedBytes {
  const content = Buffer.concat(parts.filter((part) => part !== 'secret'));
  const text = mask(content.toString('latin1'), { content: true });
  const isShort = text.length <= 2 * SHOWN;
  return {
    sizeBytes: content.length,
    sha256: hash('sha256', content, 'hex'),
    first: isShort ? text : text.slice(0, SHOWN),
    last: isShort ? '' : text.slice(-SHOWN),
  };
}
