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

export type Verdict = { readonly ok: true; readonly secretId: string } | Refusal;

export const refused = (code: VerifyCode, message: string): Refusal => ({ ok: false, code, message });

/** `where` names the place: `header x-id`. */
export const repeated = (where: string): Refusal =>
  refused('signature_invalid', `The ${where} arrived more than once. Send it once.`);
