export type VerifyCode =
  | 'signature_missing'
  | 'signature_invalid'
  | 'timestamp_out_of_tolerance'
  | 'unavailable';

/** `message` may be shown to the caller: it says what was wrong, never a secret and never the expected signature. */
export interface Refusal {
  readonly ok: false;
  readonly code: VerifyCode;
  readonly message: string;
}

export interface Genuine {
  readonly ok: true;
  /** The secret that proved it; `''` where a check needs none. */
  readonly secretId: string;
  /** Further secrets that signed it (a provider in the middle of a rotation) or that other checks and items needed. */
  readonly alsoUsed?: readonly string[];
}

export type Verdict = Genuine | Refusal;

/** Every secret that a verified request used. */
export const secretsUsed = ({ secretId, alsoUsed = [] }: Genuine): string[] =>
  [secretId, ...alsoUsed].filter((id) => id !== '');

/** `ids` without repetitions; the first is the one that is told. */
export function genuine(ids: readonly string[]): Genuine {
  const [secretId = '', ...alsoUsed] = new Set(ids);
  return alsoUsed.length === 0 ? { ok: true, secretId } : { ok: true, secretId, alsoUsed };
}

export const refused = (code: VerifyCode, message: string): Refusal => ({ ok: false, code, message });

/** `where` names the place: `header x-id`. */
export const repeated = (where: string): Refusal =>
  refused('signature_invalid', `The ${where} arrived more than once. Send it once.`);
