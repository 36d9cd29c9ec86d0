import { eachElement, findSpan } from '@breakwater/contracts/json-spans';
import type { HttpClient } from '@breakwater/http/client';
import type { HttpOutcome } from '@breakwater/http/outcome';
import { parseRetryAfterMs } from '@breakwater/http/retry-after';
import { AppError } from '@breakwater/runtime/errors';
import { pause } from '@breakwater/runtime/poll';
import { z } from 'zod';

export interface StripeList {
  readonly client: HttpClient;
  /** Secret or restricted key with the right to read events. Never logged, never in an error. */
  readonly apiKey: string;
  readonly apiUrl: string;
  /** Bounds of `created`, seconds since the epoch, both inclusive. Stripe lists the last 30 days. */
  readonly sinceS: number;
  readonly untilS: number;
  /** Only events that some endpoint of the account has not acknowledged (`delivery_success=false`). */
  readonly undelivered: boolean;
  readonly signal: AbortSignal;
}

export interface StripeEvent {
  readonly id: string;
  /** The object's own bytes, cut out of the page: parsed and printed again, 1.10 would become 1.1. */
  readonly bytes: Buffer;
}

interface Page {
  /** Newest first, as Stripe lists them. */
  readonly events: readonly StripeEvent[];
  readonly hasMore: boolean;
}

const LIMIT = 100; // Stripe's maximum
const TIMEOUT_MS = 30_000;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
const TRIES = 5;
const RETRY_FROM_MS = 500;

const Shape = z.object({ has_more: z.boolean(), data: z.array(z.object({ id: z.string().min(1) })) });

/**
 * Events from Stripe's list (GET /v1/events), oldest first. The list itself is newest first, so its end is looked for at
 * first; paging by `ending_before` from there gives the order in which they happened, and holds one page at a time.
 * Throws AppError request_invalid for a key that Stripe refuses, unavailable where it does not answer.
 */
export async function* listStripeEvents(list: StripeList): AsyncGenerator<StripeEvent> {
  try {
    yield* pagesFromTheEnd(list);
  } catch (error) {
    if (!list.signal.aborted) throw error; // a person ended it; the caller looks at the signal
  }
}

async function* pagesFromTheEnd(list: StripeList): AsyncGenerator<StripeEvent> {
  let page = await readPage(list, {});
  for (let last = page.events.at(-1); page.hasMore && last; last = page.events.at(-1))
    page = await readPage(list, { starting_after: last.id });
  while (page.events.length > 0) {
    yield* page.events.toReversed();
    page = await readPage(list, { ending_before: page.events[0]?.id ?? '' });
  }
}

/** A page; a smaller one where one of a hundred is too large or too slow to be read whole. */
async function readPage(list: StripeList, cursor: Readonly<Record<string, string>>): Promise<Page> {
  for (let limit = LIMIT; ; limit = Math.ceil(limit / 4)) {
    const outcome = await ask(list, cursor, limit);
    if (outcome.truncated && limit > 1) continue;
    const page = outcome.truncated ? undefined : parsePage(outcome.body);
    if (page) return page;
    throw new AppError('unavailable', "Stripe's answer is no complete list of events.", { remedy: AGAIN });
  }
}

const AGAIN = 'Running the command again is safe.';

/** The answer of a 200; what may pass is asked again, with growing waits. */
async function ask(
  list: StripeList,
  cursor: Readonly<Record<string, string>>,
  limit: number,
): Promise<{ readonly body: Buffer; readonly truncated: boolean }> {
  const url = urlOf(list, cursor, limit);
  for (let tries = 1; ; tries += 1) {
    const outcome = await list.client.request({
      method: 'GET',
      url,
      headers: { authorization: `Bearer ${list.apiKey}`, accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBodyBytes: MAX_PAGE_BYTES,
      signal: list.signal,
    });
    if (outcome.kind === 'response' && outcome.status === 200) return outcome;
    if (outcome.kind === 'response' && outcome.status < 500 && outcome.status !== 429)
      throw refused(outcome.status);
    if (tries >= TRIES || list.signal.aborted)
      throw new AppError('unavailable', `Stripe does not list its events: ${wordsOf(outcome)}`, {
        remedy: AGAIN,
      });
    await pause(Math.max(RETRY_FROM_MS * 2 ** (tries - 1), askedWaitMs(outcome)), list.signal);
  }
}

function urlOf(list: StripeList, cursor: Readonly<Record<string, string>>, limit: number): string {
  const url = new URL('/v1/events', list.apiUrl);
  url.search = new URLSearchParams({
    limit: String(limit),
    'created[gte]': String(list.sinceS),
    'created[lte]': String(list.untilS),
    ...(list.undelivered && { delivery_success: 'false' }),
    ...cursor,
  }).toString();
  return url.href;
}

function refused(status: number): AppError {
  const isKey = status === 401 || status === 403;
  return new AppError('request_invalid', `Stripe refuses to list its events (${status}).`, {
    remedy: isKey
      ? 'Set STRIPE_API_KEY to a key of this account that may read events.'
      : 'Check --since, --until and --api-url.',
  });
}

const wordsOf = (outcome: HttpOutcome): string =>
  outcome.kind === 'response'
    ? `it answered ${outcome.status}.`
    : outcome.kind === 'failure'
      ? outcome.message
      : '';

const MAX_WAIT_MS = 60_000;
function askedWaitMs(outcome: HttpOutcome): number {
  const value = outcome.kind === 'response' ? outcome.headers['retry-after'] : undefined;
  const wait = typeof value === 'string' ? parseRetryAfterMs(value, Date.now()) : undefined;
  return Math.min(wait ?? 0, MAX_WAIT_MS);
}

function parsePage(body: Buffer): Page | undefined {
  const text = body.toString('utf8');
  let shape: z.infer<typeof Shape>;
  try {
    shape = Shape.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
  const data = findSpan(text, ['data']);
  if (typeof data === 'string') return undefined;
  const spans = [...eachElement(text, data.start)];
  const events = shape.data.map(({ id }, index) => {
    const { start = 0, end = 0 } = spans[index] ?? {};
    return { id, bytes: Buffer.from(text.slice(start, end), 'utf8') };
  });
  return { events, hasMore: shape.has_more };
}
