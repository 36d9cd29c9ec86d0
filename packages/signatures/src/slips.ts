import type { Check, SharedSecretCheck, SignatureCheck } from '@breakwater/contracts/source-check';
import type { Source } from '@breakwater/contracts/source-config';
import { bodySlips } from './body-slips.ts';
import type { SignedRequest } from './headers.ts';
import { secretsOf } from './keys.ts';

/** A request and the source it is held against. */
export interface Trial {
  readonly source: Source;
  readonly request: SignedRequest & { readonly nowMs: number };
}

export type SlipKind =
  | 'body'
  | 'encoding'
  | 'header'
  | 'secret'
  | 'other_source'
  | 'algorithm'
  | 'url'
  | 'timestamp';

/** One mistake that people make, undone. `says`: what it means if the trial verifies; ids and names, never a secret. */
export interface Slip {
  readonly kind: SlipKind;
  readonly says: string;
  readonly trial: Trial;
}

export type Sources = Readonly<Record<string, Source>>;

/** Mistakes about the bytes of the body. One at a time, since a copy may have 25 MiB. */
export function* bodyTrials(trial: Trial): Generator<Slip> {
  const { request } = trial;
  for (const { says, body } of bodySlips(request.body)) {
    const { decoded: _decoded, ...rest } = request;
    yield { kind: 'body', says, trial: { ...trial, request: { ...rest, body } } };
  }
}

/** All other mistakes: of settings, headers and secrets. `sources`: all that are configured, `name` the one in question. */
export function* settingTrials(trial: Trial, name: string, sources: Sources): Generator<Slip> {
  for (const [index, check] of trial.source.auth.entries()) {
    const withCheck = (altered: Check): Trial => ({
      ...trial,
      source: { ...trial.source, auth: trial.source.auth.with(index, altered) },
    });
    if (check.kind === 'signature') yield* signatureTrials(trial, check, withCheck);
    else if (check.kind === 'sharedSecret') yield* tokenTrials(trial, check, withCheck);
  }
  yield* secretTrials(trial);
  yield* urlTrials(trial);
  yield* otherSources(trial, name, sources);
}

type WithCheck = (altered: Check) => Trial;

function* signatureTrials(trial: Trial, check: SignatureCheck, withCheck: WithCheck): Generator<Slip> {
  const { signature } = check;
  const place = signature.header;
  const text = place === undefined ? undefined : trial.request.headers[place]?.[0];
  for (const form of formsOf(signature, text))
    yield { kind: 'encoding', says: form.says, trial: withCheck({ ...check, signature: form.place }) };
  for (const algorithm of ['hmac-sha1', 'hmac-sha256', 'hmac-sha512'] as const) {
    if (algorithm === check.algorithm || !check.algorithm.startsWith('hmac-')) continue;
    const says = `The signature was made with ${algorithm}, and the source says ${check.algorithm}. Correct auth.algorithm or the sender.`;
    yield { kind: 'algorithm', says, trial: withCheck({ ...check, algorithm }) };
  }
  if (place !== undefined) {
    for (const [header, [found]] of Object.entries(trial.request.headers)) {
      if (header === place) continue;
      const as = { ...signature, header };
      const says = `The signature is in the header ${header}, and the source reads ${place}. Correct signature.header or the sender.`;
      yield { kind: 'header', says, trial: withCheck({ ...check, signature: as }) };
      for (const form of formsOf(as, found))
        yield {
          kind: 'header',
          says: `${says} ${form.says}`,
          trial: withCheck({ ...check, signature: form.place }),
        };
    }
  }
  yield* keyTrials(trial, check, withCheck);
  for (const unit of ['s', 'ms', 'iso'] as const) {
    if (check.timestamp === undefined || check.timestamp.unit === unit) continue;
    const says = `The timestamp is in the unit ${unit}, and the source says ${check.timestamp.unit}. Correct timestamp.unit.`;
    yield {
      kind: 'timestamp',
      says,
      trial: withCheck({ ...check, timestamp: { ...check.timestamp, unit } }),
    };
  }
}

type Place = SignatureCheck['signature'];

/** A word and a separator in front of a signature: `sha256=`, `v1:`. */
const PREFIX = /^[A-Za-z][A-Za-z0-9_-]{0,15}[=: ]\s*(?=.)/;

/** Other ways to write the signature that is in `text`: prefix, encoding, or both. */
function* formsOf(place: Place, text: string | undefined): Generator<{ place: Place; says: string }> {
  const found = place.list === undefined ? PREFIX.exec(text ?? '')?.[0] : undefined;
  const prefixes = new Set([place.prefix, '', ...(found === undefined ? [] : [found])]);
  for (const prefix of prefixes) {
    for (const encoding of ['hex', 'base64'] as const) {
      if (prefix === place.prefix && encoding === place.encoding) continue;
      const said = [
        ...(encoding === place.encoding
          ? []
          : [`The signature is ${encoding}, and the source says ${place.encoding}.`]),
        ...(prefix === place.prefix
          ? []
          : [
              `The signature begins with ${quoted(prefix)}, and the source says ${quoted(place.prefix)} (signature.prefix).`,
            ]),
      ];
      yield { place: { ...place, prefix, encoding }, says: said.join(' ') };
    }
  }
}

const quoted = (prefix: string): string => (prefix === '' ? 'no prefix' : JSON.stringify(prefix));

/** Keys read another way: a hex text taken as it stands, a prefix such as `whsec_` left on. */
function* keyTrials(trial: Trial, check: SignatureCheck, withCheck: WithCheck): Generator<Slip> {
  if (!['utf8', 'hex', 'base64'].includes(check.key)) return;
  for (const secret of secretsOf(trial.source, check)) {
    const prefixes = new Set([check.keyPrefix, '', /^[a-z]{2,8}_/.exec(secret.value)?.[0] ?? '']);
    for (const keyPrefix of prefixes) {
      for (const key of ['utf8', 'hex', 'base64'] as const) {
        if (key === check.key && keyPrefix === check.keyPrefix) continue;
        const left = keyPrefix === check.keyPrefix ? '' : keyPrefix === '' ? ' with' : ' without';
        const says = `The sender uses secret ${secret.id} as ${key}${left === '' ? '' : `,${left} its prefix`}, and the source reads it as ${check.key}. Correct auth.key and auth.keyPrefix.`;
        const altered = withCheck({ ...check, key, keyPrefix, secrets: [secret.id] });
        yield { kind: 'secret', says, trial: altered };
      }
    }
  }
}

function* tokenTrials({ request }: Trial, check: SharedSecretCheck, withCheck: WithCheck): Generator<Slip> {
  const expected = check.in === 'header' || check.in === 'query' ? `${check.in} ${check.name}` : check.in;
  for (const header of Object.keys(request.headers)) {
    if (check.in === 'header' && check.name === header) continue;
    const says = `The secret is in the header ${header}, and the source reads ${expected}. Correct auth.in and auth.name.`;
    yield { kind: 'header', says, trial: withCheck({ ...check, in: 'header', name: header }) };
  }
  for (const way of ['bearer', 'basic'] as const) {
    if (check.in === way) continue;
    const { name: _name, ...rest } = check;
    const says = `The secret is in the header authorization as ${way}, and the source reads ${expected}. Correct auth.in.`;
    yield { kind: 'header', says, trial: withCheck({ ...rest, in: way }) };
  }
}

/** Each secret alone, so that one that cannot be decoded does not hide what another one shows. */
function* secretTrials(trial: Trial): Generator<Slip> {
  const { source } = trial;
  for (const { notBefore, notAfter, ...secret } of source.secrets) {
    const alone = (value: string): Trial => ({
      ...trial,
      source: { ...source, secrets: [{ ...secret, value }] },
    });
    const { value } = secret;
    if (notBefore !== undefined || notAfter !== undefined) {
      const says = `It was signed with secret ${secret.id}, which is not in force at this time (notBefore, notAfter).`;
      yield { kind: 'secret', says, trial: alone(value) };
    }
    if (value !== value.trim()) {
      const says = `Secret ${secret.id} is configured with white space around it, and the sender uses it without. Remove it from the configuration.`;
      yield { kind: 'secret', says, trial: alone(value.trim()) };
    }
    for (const [other, what] of [
      [`${value}\n`, 'a newline behind it'],
      [`${value}\r\n`, 'a line break (CRLF) behind it'],
      [`${value} `, 'a space behind it'],
      [` ${value}`, 'a space before it'],
    ] as const) {
      const says = `The sender uses secret ${secret.id} with ${what}. Enter it again there.`;
      yield { kind: 'secret', says, trial: alone(other) };
    }
  }
}

/** Of sources whose URL is signed: what people write a little differently. */
function* urlTrials(trial: Trial): Generator<Slip> {
  const { source } = trial;
  const { publicUrl } = source.request;
  if (publicUrl === undefined) return;
  const others = [
    publicUrl.endsWith('/') ? publicUrl.slice(0, -1) : `${publicUrl}/`,
    publicUrl.startsWith('https:') ? `http:${publicUrl.slice(6)}` : `https:${publicUrl.slice(5)}`,
  ];
  for (const url of others) {
    const says = `The sender calls ${url}, and request.publicUrl is ${publicUrl}. They must be the same, character by character.`;
    yield {
      kind: 'url',
      says,
      trial: { ...trial, source: { ...source, request: { ...source.request, publicUrl: url } } },
    };
  }
}

function* otherSources(trial: Trial, name: string, sources: Sources): Generator<Slip> {
  for (const [other, configured] of Object.entries(sources)) {
    if (other === name) continue;
    yield {
      kind: 'other_source',
      says: `It verifies as source ${other}. It may have been sent to the wrong URL.`,
      trial: { ...trial, source: configured },
    };
    for (const secret of configured.secrets) {
      // Under an id that the checks of this source name, or they would not use it.
      for (const id of new Set(trial.source.secrets.map((own) => own.id))) {
        yield {
          kind: 'other_source',
          says: `It was signed with secret ${secret.id} of source ${other}. Give the sender the secret of this source.`,
          trial: { ...trial, source: { ...trial.source, secrets: [{ ...secret, id }] } },
        };
      }
    }
  }
}
