import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { HttpAdapter } from '@breakwater/contracts/target-config';
import type { HttpClient } from '@breakwater/http/client';
import { contradictions } from './answers.ts';
import { type Authorizer, authHeaderName, createAuthorizer } from './authorizer.ts';
import { type Compiler, createCompiler, type Expression } from './expression.ts';
import type { FindReading } from './find-answer.ts';
import { compileList, type ListPlan } from './http-list.ts';
import type { PostReading } from './post-answer.ts';
import { createTargetUrl, type TargetUrl } from './target-url.ts';

/** One request of the adapter: where it goes, and what it carries. */
export interface Call {
  readonly path: Expression;
  readonly body: Expression | undefined;
}

/** Everything of an adapter that can be wrong in its configuration, checked and compiled once. */
export interface Plan {
  readonly url: TargetUrl;
  readonly authorizer: Authorizer;
  readonly headers: Readonly<Record<string, string>>;
  readonly post: PostReading & Call;
  readonly find?: FindReading & Call;
  readonly count?: Call & { readonly value: Expression };
  readonly list?: ListPlan;
}

/** Throws AppError config_invalid that lists every mistake: the place, and for an expression the position. */
export function createPlan(config: HttpAdapter, client: HttpClient): Plan {
  const compiler = createCompiler();
  const authorizer = createAuthorizer(config, client, compiler);
  const { secrets } = authorizer;
  const { post, find, count, list } = config;
  const compile = (path: string, source: string): Expression => compiler.compile(`adapter.${path}`, source);
  const perhaps = (path: string, source: string | undefined): Expression | undefined =>
    source === undefined ? undefined : compile(path, source);
  const call = (part: string, { path, body }: { path: string; body?: string | undefined }): Call => ({
    path: compile(`${part}.path`, path),
    body: perhaps(`${part}.body`, body),
  });
  const plan: Plan = {
    url: createTargetUrl(config.baseUrl, compiler),
    authorizer,
    headers: checkHeaders(config, compiler),
    post: {
      ...call('post', post),
      answers: post.answers,
      secrets,
      meaning: perhaps('post.meaning', post.meaning),
      receipt: perhaps('post.receipt', post.receipt),
    },
    ...(find && {
      find: {
        ...call('find', find),
        statuses: find.statuses,
        hits: compile('find.hits', find.hits),
        secrets,
        receipt: perhaps('find.receipt', find.receipt),
        sameEvent: perhaps('find.sameEvent', find.sameEvent),
      },
    }),
    ...(count && { count: { ...call('count', count), value: compile('count.value', count.value) } }),
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
  const owned = authHeaderName(config.auth);
  for (const [name, value] of Object.entries(config.headers)) {
    const lower = name.toLowerCase();
    const place = `adapter.headers.${name}`;
    if (FRAMING.has(lower)) compiler.mistake(place, 'this header is set by the client');
    if (lower === owned) compiler.mistake(place, 'this header is set by adapter.auth: keep one');
    if (!isHeader(name, value)) compiler.mistake(place, 'no valid HTTP header');
    headers[lower] = value;
  }
  if (config.auth?.kind === 'header' && !isHeader(config.auth.name, config.auth.value))
    compiler.mistake('adapter.auth.value', 'no valid value of an HTTP header');
  if (config.auth?.kind === 'bearer' && !isHeader('authorization', config.auth.token))
    compiler.mistake('adapter.auth.token', 'no valid value of an HTTP header');
  if (config.idempotencyHeader !== undefined && !isHeader(config.idempotencyHeader, ''))
    compiler.mistake('adapter.idempotencyHeader', 'no valid HTTP header name');
  return headers;
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
