import { failureClassOfStatus } from '@breakwater/http/classify';
import type { HttpOutcome, HttpResponse } from '@breakwater/http/outcome';
import { parseRetryAfterMs } from '@breakwater/http/retry-after';
import { sampleOf } from '@breakwater/http/sample';
import type { PostResult } from './adapter.ts';
import { type Answers, MEANINGS, type Meaning, meaningOf } from './answers.ts';
import type { Expression } from './expression.ts';
import { kindOf, readAnswer } from './json.ts';

export interface PostReading {
  readonly answers: Answers;
  readonly meaning: Expression | undefined;
  readonly receipt: Expression | undefined;
  readonly secrets: () => readonly string[];
}

/** Names of documents are short; a longer one is an expression that caught the whole answer. */
const MAX_RECEIPT_LENGTH = 256;

/** What an outcome of a post means. `input` is what the receipt's expression sees besides the answer. */
export async function interpretPost(
  reading: PostReading,
  outcome: HttpOutcome,
  input: object,
): Promise<PostResult> {
  switch (outcome.kind) {
    case 'withheld':
      return { kind: 'withheld', code: '' };
    case 'failure': {
      const { code, message } = outcome;
      if (outcome.sent === 'maybe')
        return { kind: 'unknown', code, message: `${message} The ERP may have the document.` };
      // We are stopping; that is not the ERP's doing, so it must consume no attempt and trip no breaker.
      if (outcome.class === 'interrupted') return { kind: 'withheld', code };
      return { kind: 'failed', class: outcome.class, code, message };
    }
    case 'response':
      return await interpretStatus(reading, outcome, input);
  }
}

async function interpretStatus(
  reading: PostReading,
  outcome: HttpResponse,
  input: object,
): Promise<PostResult> {
  const { status } = outcome;
  const told = { code: String(status), sample: sampleOf(outcome, reading.secrets()) };
  const { kind, doubt } = await judge(reading, outcome, input);
  switch (kind) {
    case 'posted':
    case 'duplicate':
      return {
        kind: kind === 'posted' ? kind : 'already_posted',
        receipt: await readReceipt(reading.receipt, outcome, input),
        ...told,
      };
    case 'rejected':
      return { kind, message: `The ERP refuses the document (${status}).`, ...told };
    case 'failed': {
      const wait = askedWaitMs(outcome);
      const message = `The ERP answered ${status}: not applied.`;
      return {
        kind,
        class: failureClassOfStatus(status),
        message,
        ...(wait !== undefined && { retryAfterMs: wait }),
        ...told,
      };
    }
    case 'unknown':
      return {
        kind,
        message: doubt ?? `The ERP answered ${status}, which does not say whether it applied the document.`,
        ...told,
      };
  }
}

interface Judgement {
  readonly kind: Meaning;
  /** Why `kind` is unknown, where it is not the status. */
  readonly doubt?: string;
}

/**
 * What an answer means. Where the configuration reads the answer itself, a success that cannot be read is none: an API that
 * answers 200 to everything hides its errors in the body. All other statuses mean what they mean without it.
 */
async function judge(reading: PostReading, outcome: HttpResponse, input: object): Promise<Judgement> {
  const byStatus = meaningOf(outcome.status, reading.answers);
  if (reading.meaning === undefined) return { kind: byStatus };
  const answer = readAnswer(outcome);
  if (answer === undefined && (outcome.truncated || outcome.body.length > 0)) {
    const doubt = `The ERP answered ${outcome.status}, but no complete JSON that could say what it did.`;
    return byStatus === 'posted' || byStatus === 'duplicate'
      ? { kind: 'unknown', doubt }
      : { kind: byStatus };
  }
  const result = await reading.meaning.evaluate({ ...input, ...answerInput(outcome, answer) });
  if (!result.ok) return { kind: 'unknown', doubt: result.message };
  if (result.value === undefined || result.value === null) return { kind: byStatus };
  const kind = MEANINGS.find((meaning) => meaning === result.value);
  const words = MEANINGS.join(', ');
  return kind === undefined
    ? {
        kind: 'unknown',
        doubt: `adapter.post.meaning: expected one of ${words}, got ${kindOf(result.value)}.`,
      }
    : { kind };
}

/** What expressions over an answer see besides the request's own. Header names are in lower case. */
export const answerInput = (outcome: HttpResponse, answer: unknown): object => ({
  answer,
  status: outcome.status,
  headers: outcome.headers,
});

/** Whatever is wrong with the body only costs the receipt: ''. */
async function readReceipt(
  receipt: Expression | undefined,
  outcome: HttpResponse,
  input: object,
): Promise<string> {
  if (receipt === undefined) return '';
  const result = await receipt.evaluate({ ...input, ...answerInput(outcome, readAnswer(outcome)) });
  return result.ok ? receiptText(result.value) : '';
}

/** Text or a number as a receipt; '' for anything else. */
export function receiptText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number'
    ? String(value).slice(0, MAX_RECEIPT_LENGTH)
    : '';
}

/** The wait that an answer asks for, ms. Only these two statuses define Retry-After as "try again then" (RFC 9110, RFC 6585). */
export function askedWaitMs({ status, headers }: HttpResponse): number | undefined {
  const value = headers['retry-after'];
  return (status === 429 || status === 503) && typeof value === 'string'
    ? parseRetryAfterMs(value, Date.now())
    : undefined;
}
