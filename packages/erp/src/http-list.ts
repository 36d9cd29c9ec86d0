import type { HttpList } from '@breakwater/contracts/http-list-config';
import { LATEST_MS } from '@breakwater/contracts/duration';
import { AppError } from '@breakwater/runtime/errors';
import type { ListedDocument } from './adapter.ts';
import type { Authorizer } from './authorizer.ts';
import type { Evaluated, Expression } from './expression.ts';
import { kindOf, readAnswer } from './json.ts';
import { receiptText } from './post-answer.ts';
import type { TargetUrl } from './target-url.ts';

/** A page of full documents. One that is longer is an error: `path` should ask for fewer. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

const PARTS = ['path', 'items', 'reference', 'documentId', 'at', 'complete', 'next'] as const;
type Part = (typeof PARTS)[number];

/** The compiled parts of a list and where to send it. */
export interface ListPlan {
  readonly timeoutMs: number;
  readonly parts: Readonly<Partial<Record<Part, Expression>>>;
}

/** Compiles every expression of a list; mistakes go to the compiler, with their place. */
export function compileList(list: HttpList, compile: (path: string, source: string) => Expression): ListPlan {
  const { timeout: timeoutMs, ...sources } = list;
  const parts: Partial<Record<Part, Expression>> = {};
  for (const part of PARTS) {
    const source = sources[part];
    if (source !== undefined) parts[part] = compile(`list.${part}`, source);
  }
  return { timeoutMs, parts };
}

export interface ListCall {
  readonly authorizer: Authorizer;
  readonly url: TargetUrl;
  readonly headers: Readonly<Record<string, string>>;
  readonly since: number;
  readonly signal?: AbortSignal | undefined;
}

const silent = (why: string): AppError =>
  new AppError('unavailable', `The ERP did not list its documents: ${why}`);

/** Reads the list page by page. Throws AppError unavailable where a page is missing, unreadable or comes again. */
export async function* listDocuments(plan: ListPlan, call: ListCall): AsyncGenerator<ListedDocument> {
  const seen = new Set<unknown>();
  let after: unknown;
  for (;;) {
    const answer = await readPage(plan, call, after);
    const items = await value(plan, 'items', { answer });
    if (items === undefined || items === null) throw silent('adapter.list.items found no list in a page.');
    const page: unknown[] = Array.isArray(items) ? items : [items]; // JSONata unwraps a list of one
    for (const item of page) {
      const document = await readItem(plan, item);
      if (document.at >= call.since) yield document;
    }
    after = await value(plan, 'next', { answer });
    if (page.length === 0 || after === undefined || after === null || after === '') return;
    if (seen.has(after)) throw silent('adapter.list.next leads back to a page that was read already.');
    seen.add(after);
  }
}

async function readPage(plan: ListPlan, call: ListCall, after: unknown): Promise<unknown> {
  const since = new Date(call.since).toISOString();
  const path = await value(plan, 'path', { since, ...(after !== undefined && { after }) });
  const url: Evaluated<string> = call.url.at(path);
  if (!url.ok) throw silent(`adapter.list.path: ${url.message}`);
  const { authorizer, headers, signal } = call;
  const page = {
    method: 'GET',
    url: url.value,
    headers: { ...headers },
    timeoutMs: plan.timeoutMs,
    maxBodyBytes: MAX_PAGE_BYTES,
    ...(signal && { signal }),
  } as const;
  const outcome = await authorizer.request(page, true);
  if (outcome.kind === 'withheld') throw silent('nothing was sent.');
  if (outcome.kind === 'failure') throw silent(outcome.message);
  if (outcome.status < 200 || outcome.status > 299) throw silent(`it answered ${outcome.status}.`);
  const answer = readAnswer(outcome);
  if (answer === undefined) throw silent('a page is no complete JSON document.');
  return answer;
}

async function readItem(plan: ListPlan, item: unknown): Promise<ListedDocument> {
  const [reference, documentId, at, complete] = await Promise.all(
    (['reference', 'documentId', 'at', 'complete'] as const).map((part) => value(plan, part, { item })),
  );
  const ms = typeof at === 'string' ? Date.parse(at) : at;
  if (typeof reference !== 'string')
    throw silent(`adapter.list.reference gave ${kindOf(reference)} for an item, not text.`);
  if (typeof ms !== 'number' || !(Math.abs(ms) <= LATEST_MS))
    throw silent('adapter.list.at gave no time for an item: expected ISO 8601 or milliseconds.');
  return { reference, documentId: receiptText(documentId), at: ms, complete: complete !== false };
}

async function value(plan: ListPlan, part: Part, input: object): Promise<unknown> {
  const result = await plan.parts[part]?.evaluate(input);
  if (result?.ok === false) throw silent(result.message);
  return result?.value;
}
