import { validateHeaderName, validateHeaderValue } from 'node:http';
import { headerSafe } from '@breakwater/contracts/ids';
import type { HttpAdapter } from '@breakwater/contracts/target-config';
import type { HttpClient } from '@breakwater/http/client';
import { AppError } from '@breakwater/runtime/errors';
import type { ErpAdapter } from './adapter.ts';
import { contradictions } from './answers.ts';
import {
  type Compiler,
  type Evaluated,
  type Expression,
  type MappingError,
  createCompiler,
  mappingError,
} from './expression.ts';
import { type FindReading, interpretFind } from './find-answer.ts';
import { type ListPlan, compileList, listDocuments } from './http-list.ts';
import { readAnswer } from './json.ts';
import { type PostReading, interpretPost } from './post-answer.ts';
import { type TargetUrl, createTargetUrl } from './target-url.ts';

/** What the ERP says to a post is a receipt or an error: more is a page of HTML, kept as a sample only. */
const MAX_POST_ANSWER_BYTES = 64 * 1024;
/** Hits of one reference. An answer that is longer proves nothing (see interpretFind), so there is room for full documents. */
const MAX_FIND_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_COUNT_ANSWER_BYTES = 64 * 1024;

/** Everything of an adapter that can be wrong in its configuration, checked and compiled once. */
interface Plan {
  readonly url: TargetUrl;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: PostReading & { readonly path: Expression };
  readonly find?: FindReading & { readonly path: Expression };
  readonly count?: { readonly path: Expression; readonly value: Expression };
  readonly list?: ListPlan;
}

/**
 * Makes the `http` adapter: any JSON API, described by configuration (DESIGN 6). The client is shared and not closed
 * here. Throws AppError config_invalid that lists every mistake: the place, and for an expression the position.
 */
export function createHttpAdapter(config: HttpAdapter, client: HttpClient): ErpAdapter {
  const plan = createPlan(config);
  const { find, count, list } = plan;
  return {
    async post(document, reference, guard, event) {
      const input = { event, document, reference };
      const url = await locate(plan, 'post', input);
      if (!url.ok) return unmapped(url);
      const outcome = await client.request({
        method: config.post.method,
        url: url.value,
        headers: postHeaders(plan, config, reference),
        body: Buffer.from(JSON.stringify(document)),
        timeoutMs: config.post.timeout,
        maxBodyBytes: MAX_POST_ANSWER_BYTES,
        mayWrite: guard.mayWrite,
        ...(guard.signal && { signal: guard.signal }),
      });
      return await interpretPost(plan.post, outcome, input);
    },
    ...(find && {
      async find(reference, event, document, signal) {
        const input = { event, document, reference };
        const url = await locate(plan, 'find', input);
        if (!url.ok) return unmapped(url);
        const timeoutMs = config.find?.timeout ?? 0;
        const outcome = await get(client, plan, {
          url: url.value,
          timeoutMs,
          maxBodyBytes: MAX_FIND_ANSWER_BYTES,
          signal,
        });
        return await interpretFind(find, outcome, input);
      },
    }),
    ...(count && { count: () => readCount(client, plan, count.value, config.count?.timeout ?? 0) }),
    ...(list && {
      list: (since, signal) =>
        listDocuments(list, { client, url: plan.url, headers: plan.headers, since, signal }),
    }),
    close() {}, // the client is the caller's, and there is nothing else
  };
}

type Place = 'post' | 'find' | 'count';

async function locate(plan: Plan, place: Place, input: object): Promise<Evaluated<string>> {
  const path = await plan[place]?.path.evaluate(input);
  if (path?.ok === false) return path;
  const url = plan.url.at(path?.value);
  return url.ok ? url : mappingError(`adapter.${place}.path: ${url.message}`);
}

/** A path that cannot be made: nothing was sent, and nothing will be until somebody corrects it. */
const unmapped = ({ message }: MappingError) =>
  ({ kind: 'failed', class: 'mapping', message, code: '' }) as const;

function postHeaders(plan: Plan, config: HttpAdapter, reference: string): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', ...plan.headers };
  if (config.idempotencyHeader !== undefined)
    headers[config.idempotencyHeader.toLowerCase()] = headerSafe(reference);
  return headers;
}

interface Get {
  readonly url: string;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly signal?: AbortSignal | undefined;
}

function get(client: HttpClient, plan: Plan, request: Get): ReturnType<HttpClient['request']> {
  const { signal, ...rest } = request;
  return client.request({ method: 'GET', headers: { ...plan.headers }, ...rest, ...(signal && { signal }) });
}

const noCount = (why: string): AppError =>
  new AppError('unavailable', `The ERP did not say how many documents it holds: ${why}`);

async function readCount(
  client: HttpClient,
  plan: Plan,
  value: Expression,
  timeoutMs: number,
): Promise<number> {
  const url = await locate(plan, 'count', {});
  if (!url.ok) throw noCount(url.message);
  const outcome = await get(client, plan, {
    url: url.value,
    timeoutMs,
    maxBodyBytes: MAX_COUNT_ANSWER_BYTES,
  });
  if (outcome.kind === 'withheld') throw noCount('nothing was sent.');
  if (outcome.kind === 'failure') throw noCount(outcome.message);
  if (outcome.status < 200 || outcome.status > 299) throw noCount(`it answered ${outcome.status}.`);
  const result = await value.evaluate({ answer: readAnswer(outcome) });
  if (!result.ok) throw noCount(result.message);
  const total = result.value;
  if (typeof total === 'number' && Number.isSafeInteger(total) && total >= 0) return total;
  throw noCount('adapter.count.value gave no whole number.');
}

function createPlan(config: HttpAdapter): Plan {
  const compiler = createCompiler();
  const compile = (path: string, source: string): Expression => compiler.compile(`adapter.${path}`, source);
  const secrets = Object.entries(config.headers).flatMap(([name, value]) => secretsOf(name, value));
  const { post, find, count, list } = config;
  const plan: Plan = {
    url: createTargetUrl(config.baseUrl, compiler),
    headers: checkHeaders(config, compiler),
    post: {
      path: compile('post.path', post.path),
      answers: post.answers,
      secrets,
      ...(post.receipt !== undefined && { receipt: compile('post.receipt', post.receipt) }),
    },
    ...(find && {
      find: {
        path: compile('find.path', find.path),
        hits: compile('find.hits', find.hits),
        secrets,
        ...(find.receipt !== undefined && { receipt: compile('find.receipt', find.receipt) }),
        ...(find.sameEvent !== undefined && { sameEvent: compile('find.sameEvent', find.sameEvent) }),
      },
    }),
    ...(count && {
      count: { path: compile('count.path', count.path), value: compile('count.value', count.value) },
    }),
    ...(list && { list: compileList(list, compile) }),
  };
  for (const contradiction of contradictions(post.answers))
    compiler.mistake('adapter.post.answers', contradiction);
  compiler.finish();
  return plan;
}

/** Framing is the client's: a length or encoding of the configuration's own would tear every request. */
const FRAMING = new Set(['content-length', 'transfer-encoding', 'connection', 'host']);

/** Found at the first request otherwise, as a failure of every delivery. Values may be secrets and are never quoted. */
function checkHeaders(config: HttpAdapter, compiler: Compiler): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json' };
  for (const [name, value] of Object.entries(config.headers)) {
    const lower = name.toLowerCase();
    if (FRAMING.has(lower)) compiler.mistake(`adapter.headers.${name}`, 'this header is set by the client');
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      compiler.mistake(`adapter.headers.${name}`, 'no valid HTTP header');
    }
    headers[lower] = value;
  }
  try {
    if (config.idempotencyHeader !== undefined) validateHeaderName(config.idempotencyHeader);
  } catch {
    compiler.mistake('adapter.idempotencyHeader', 'no valid HTTP header name');
  }
  return headers;
}

/** A header's value, and what follows its scheme (`Bearer abc`), which is how servers quote it. */
function secretsOf(name: string, value: string): string[] {
  if (/^(?:accept|content-type|user-agent)$/i.test(name)) return [];
  const credentials = value.replace(/^\S+\s+/, '');
  return [...new Set([value, credentials])].filter((text) => text.length >= 4); // shorter ones would cut up any text
}
