import type { FailureClass } from '@breakwater/contracts/failure-class';
import type { HttpOutcome, HttpResponse } from '@breakwater/http/outcome';
import { sampleOf } from '@breakwater/http/sample';
import type { FindResult } from './adapter.ts';
import { isListed } from './answers.ts';
import type { Evaluated, Expression } from './expression.ts';
import { kindOf, readAnswer } from './json.ts';
import { answerInput, askedWaitMs, receiptText } from './post-answer.ts';

/** A reference has one document, or a few duplicates. An ERP that does not filter lists all that it has. */
const MAX_HITS = 1_000;

export interface FindReading {
  /** Statuses whose answer `hits` can read. */
  readonly statuses: readonly (number | string)[];
  readonly hits: Expression;
  readonly receipt: Expression | undefined;
  readonly sameEvent: Expression | undefined;
  readonly secrets: () => readonly string[];
}

/**
 * What an outcome of a look-up means. After `absent` the document is posted (again), so only a complete answer of
 * a readable status whose hits are an empty list says so; everything else proves nothing and is `failed`.
 */
export async function interpretFind(
  reading: FindReading,
  outcome: HttpOutcome,
  input: object,
): Promise<FindResult> {
  if (outcome.kind === 'withheld')
    return { kind: 'failed', class: 'lookup_failed', code: '', message: 'The look-up was not sent.' };
  if (outcome.kind === 'failure') {
    // How a connection fails is worth its own remedy; what came after is only: no answer to the look-up.
    const known = outcome.sent === 'no' || outcome.class === 'interrupted';
    const failure = known ? outcome.class : 'lookup_failed';
    return { kind: 'failed', class: failure, code: outcome.code, message: `Look-up: ${outcome.message}` };
  }
  const { status } = outcome;
  if (!isListed(status, reading.statuses)) {
    const wait = askedWaitMs(outcome);
    const result = failed(reading, outcome, `the ERP answered ${status}.`, classOf(status));
    return wait === undefined ? result : { ...result, retryAfterMs: wait };
  }
  const answer = readAnswer(outcome);
  if (answer === undefined)
    return failed(reading, outcome, 'the answer is no complete JSON document that can be read.');
  const told = answerInput(outcome, answer);
  const hits = await reading.hits.evaluate({ ...input, ...told });
  if (!hits.ok) return failed(reading, outcome, hits.message);
  if (hits.value === undefined || hits.value === null) {
    // JSONata gives nothing both for a list it filtered empty and for an error object without a list.
    return failed(
      reading,
      outcome,
      'adapter.find.hits found no list in the answer: write [ ... ] around it where that means no hits.',
    );
  }
  // JSONata unwraps a list of one.
  const list: unknown[] = Array.isArray(hits.value) ? hits.value : [hits.value];
  if (list.length === 0) return { kind: 'absent' };
  if (list.length > MAX_HITS)
    return failed(
      reading,
      outcome,
      `adapter.find.hits gave ${list.length} documents under one reference: does the ERP filter by it?`,
    );
  return await readHits(reading, outcome, list, { ...input, ...told });
}

async function readHits(
  reading: FindReading,
  outcome: HttpResponse,
  hits: readonly unknown[],
  input: object,
): Promise<FindResult> {
  const ours: string[] = [];
  const others: string[] = [];
  for (const hit of hits) {
    const same: Evaluated = reading.sameEvent
      ? await reading.sameEvent.evaluate({ ...input, hit })
      : { ok: true, value: true };
    if (!same.ok) return failed(reading, outcome, same.message);
    if (typeof same.value !== 'boolean') {
      return failed(
        reading,
        outcome,
        `adapter.find.sameEvent: expected true or false, got ${kindOf(same.value)}.`,
      );
    }
    const receipt = await reading.receipt?.evaluate({ ...input, hit });
    (same.value ? ours : others).push(receipt?.ok === true ? receiptText(receipt.value) : '');
  }
  const belongs = ours.length > 0;
  return { kind: 'found', receipts: belongs ? ours : others, belongs };
}

function failed(
  reading: FindReading,
  outcome: HttpResponse,
  why: string,
  failure: FailureClass = 'lookup_failed',
): Extract<FindResult, { kind: 'failed' }> {
  const sample = sampleOf(outcome, reading.secrets());
  return { kind: 'failed', class: failure, code: String(outcome.status), message: `Look-up: ${why}`, sample };
}

/** Wrong credentials and "slow down" have remedies of their own. */
function classOf(status: number): FailureClass {
  if (status === 401 || status === 403) return 'http_auth';
  return status === 429 ? 'http_429' : 'lookup_failed';
}
