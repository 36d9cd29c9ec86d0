import { expect } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import { headerLines } from '../src/headers.ts';
import { createVerifier } from '../src/verify.ts';

/** A request that a vendor's library and our preset both judge. */
export interface JudgedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly query?: string;
}

/** The vendor's own code. What it throws counts as a refusal. */
export type Judge = (request: JudgedRequest) => boolean | Promise<boolean>;

export interface Trial {
  /** Preset, settings and secret. */
  readonly source: Record<string, unknown>;
  readonly request: JudgedRequest;
  readonly judge: Judge;
  /** Header that is changed too; undefined where the signature is in the body. */
  readonly signature?: string;
  /** Every which byte is changed, one at a time; 1 unless the vendor's code is slow. */
  readonly step?: number;
  /** ms since the epoch; now, for libraries that look at the clock. */
  readonly nowMs?: number;
  /** Bytes of the body that are not signed. */
  readonly unsigned?: (at: number) => boolean;
}

/**
 * The vendor's library accepts the request, and so do we. With any byte of the body changed both refuse it; and whatever is
 * done to the signature, we accept nothing that the library refuses.
 */
export async function expectAgreement(trial: Trial): Promise<void> {
  const { request, step = 1, nowMs = Date.now(), signature, unsigned = () => false } = trial;
  const verify = createVerifier(Source.parse(trial.source));
  const ours = ({ headers, ...rest }: JudgedRequest): boolean =>
    verify({ ...rest, headers: headerLines(Object.entries(headers).flat()), nowMs }).ok;
  const theirs = async (changed: JudgedRequest): Promise<boolean> => {
    try {
      return await trial.judge(changed);
    } catch {
      return false;
    }
  };
  expect([await theirs(request), ours(request)]).toEqual([true, true]);

  for (let at = 0; at < request.body.length; at += step) {
    if (unsigned(at)) continue;
    const body = Buffer.from(request.body);
    body.writeUInt8(body.readUInt8(at) ^ 1, at);
    const changed = { ...request, body };
    expect([at, await theirs(changed), ours(changed)]).toEqual([at, false, false]);
  }
  if (signature === undefined) return;
  const given = request.headers[signature] ?? '';
  expect(given).not.toBe('');
  for (const text of signaturesNextTo(given, step)) {
    if (text.toLowerCase() === given) continue; // hex in capitals is the same signature
    const changed = { ...request, headers: { ...request.headers, [signature]: text } };
    if (ours(changed)) expect([text, await theirs(changed)]).toEqual([text, true]);
  }
}

function* signaturesNextTo(given: string, step: number): Generator<string> {
  yield* [
    '',
    ' ',
    given.slice(0, -1),
    given.slice(1),
    `${given}=`,
    `${given}A`,
    `A${given}`,
    given.repeat(2),
  ];
  for (let at = 0; at < given.length; at += step) {
    for (const character of ['0', 'A', 'b', '+', '\u00e9'])
      yield `${given.slice(0, at)}${character}${given.slice(at + 1)}`;
  }
}
