import type { ResponseSample } from '@breakwater/contracts/attempt-result';
import type { FailureClass } from '@breakwater/contracts/failure-class';
import type { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import { failureClassOfStatus } from '@breakwater/http/classify';
import type { HttpOutcome, HttpResponse } from '@breakwater/http/outcome';
import { sampleOf } from '@breakwater/http/sample';
import { isSurelyNotApplied } from './answers.ts';
import { readAnswer } from './json.ts';
import { askedWaitMs } from './post-answer.ts';
import { readError } from './tryton-errors.ts';

interface Told {
  readonly code: string;
  readonly message: string;
  readonly sample?: ResponseSample;
}

/** A call that gave no result. Kinds as in PostResult, and two that a posting goes on from. */
export type Trouble =
  | ({ readonly kind: 'rejected' } & Told)
  | ({
      readonly kind: 'failed';
      readonly class: FailureClass;
      readonly retryAfterMs?: number;
      /** It met another transaction and was rolled back: the same call may succeed at once. */
      readonly collision?: true;
      /** 401: the session is over. */
      readonly sessionEnded?: true;
    } & Told)
  | ({ readonly kind: 'unknown' } & Told)
  | ({ readonly kind: 'warning'; readonly name: string } & Told)
  | ({ readonly kind: 'exists' } & Told)
  | ({ readonly kind: 'withheld' } & Told);

export type Answer = { readonly kind: 'result'; readonly value: unknown } | Trouble;

export const isTrouble = (value: object): value is Trouble =>
  'kind' in value && 'message' in value && value.kind !== 'result';

/** A failure before anything was sent. */
export const notSent = (failure: FailureClass, message: string): Trouble => ({
  kind: 'failed',
  class: failure,
  code: '',
  message,
});

/** A call that changes nothing: whatever is unknown about it, nothing was applied. */
export function asRead(trouble: Trouble): Trouble {
  const { kind, code, message, sample } = trouble;
  if (kind === 'failed' || kind === 'withheld') return trouble;
  return { kind: 'failed', class: 'lookup_failed', code, message, ...(sample && { sample }) };
}

interface Reading {
  readonly id: number;
  readonly method: string;
  readonly config: Pick<TrytonAdapter, 'errors'>;
  readonly secrets: readonly string[];
}

/** What an outcome of a call means, as if it were a write. */
export function interpret(outcome: HttpOutcome, reading: Reading): Answer {
  const { method } = reading;
  switch (outcome.kind) {
    case 'withheld':
      return { kind: 'withheld', code: '', message: `${method} was not sent.` };
    case 'failure': {
      const { code, sent } = outcome;
      const message = `${method}: ${outcome.message}`;
      if (sent === 'maybe') return { kind: 'unknown', code, message };
      // We are stopping; that is not the ERP's doing.
      if (outcome.class === 'interrupted') return { kind: 'withheld', code, message };
      return { kind: 'failed', class: outcome.class, code, message };
    }
    case 'response':
      return outcome.status === 200 ? readBody(outcome, reading) : readStatus(outcome, reading);
  }
}

function readStatus(outcome: HttpResponse, { method, secrets }: Reading): Trouble {
  const { status } = outcome;
  const told = {
    code: String(status),
    message: `${method}: the ERP answered ${status}.`,
    sample: sampleOf(outcome, secrets),
  };
  if (!isSurelyNotApplied(status)) return { kind: 'unknown', ...told };
  const wait = askedWaitMs(outcome);
  return {
    kind: 'failed',
    class: failureClassOfStatus(status),
    ...(wait !== undefined && { retryAfterMs: wait }),
    ...(status === 401 && { sessionEnded: true }),
    ...told,
  };
}

function readBody(outcome: HttpResponse, reading: Reading): Answer {
  const { id, method, config, secrets } = reading;
  const sample = sampleOf(outcome, secrets);
  const answer = readAnswer(outcome);
  // Another id is the answer to another call, which something in between mixed up.
  if (typeof answer !== 'object' || answer === null || Reflect.get(answer, 'id') !== id)
    return {
      kind: 'unknown',
      code: '200',
      message: `${method}: the answer is no complete answer to this call.`,
      sample,
    };
  if (Object.hasOwn(answer, 'result')) return { kind: 'result', value: Reflect.get(answer, 'result') };
  const error: unknown = Reflect.get(answer, 'error');
  const meaning = readError(Array.isArray(error) ? error : [], config);
  const told = { code: '200', message: `${method}: ${meaning.words || 'no reason given'}`, sample };
  switch (meaning.kind) {
    case 'failed':
      return {
        kind: 'failed',
        class: meaning.class,
        ...(meaning.collision && { collision: true }),
        ...told,
      };
    case 'warning':
      return { kind: 'warning', name: meaning.name, ...told };
    case 'rejected':
    case 'exists':
    case 'unknown':
      return { kind: meaning.kind, ...told };
  }
}
