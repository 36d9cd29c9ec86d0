import { headerSafe } from '@breakwater/contracts/ids';
import type { HttpAdapter } from '@breakwater/contracts/target-config';
import type { HttpClient, HttpRequest } from '@breakwater/http/client';
import { redacted } from '@breakwater/http/sample';
import { AppError } from '@breakwater/runtime/errors';
import type { ErpAdapter } from './adapter.ts';
import { meaningOf } from './answers.ts';
import { type Evaluated, type MappingError, mappingError } from './expression.ts';
import { interpretFind } from './find-answer.ts';
import { listDocuments } from './http-list.ts';
import { type Call, createPlan, type Plan } from './http-plan.ts';
import { kindOf, readAnswer } from './json.ts';
import { interpretPost } from './post-answer.ts';

/** What the ERP says to a post is a receipt or an error: more is a page of HTML, kept as a sample only. */
const MAX_POST_ANSWER_BYTES = 64 * 1024;
/** Hits of one reference. An answer that is longer proves nothing (see interpretFind), so there is room for full documents. */
const MAX_FIND_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_COUNT_ANSWER_BYTES = 64 * 1024;

/**
 * Makes the `http` adapter: any JSON API, described by configuration. The client is shared and not closed
 * here. Throws AppError config_invalid that lists every mistake: the place, and for an expression the position.
 */
export function createHttpAdapter(config: HttpAdapter, client: HttpClient): ErpAdapter {
  const plan = createPlan(config, client);
  const { find, count, list, authorizer } = plan;
  // Where 401 is listed as something else than "not applied", it is no question of a token.
  const renewOn401 = meaningOf(401, config.post.answers) === 'failed';
  return {
    async post(document, reference, guard, event) {
      const input = { event, document, reference };
      const made = await makeRequest(plan, config, 'post', input, document);
      if (!made.ok) return unmapped(made);
      const outcome = await authorizer.request(
        {
          ...made.value,
          headers: { ...made.value.headers, ...idempotency(config, reference) },
          method: config.post.method,
          timeoutMs: config.post.timeout,
          maxBodyBytes: MAX_POST_ANSWER_BYTES,
          mayWrite: guard.mayWrite,
          ...(guard.signal && { signal: guard.signal }),
        },
        renewOn401,
      );
      return await interpretPost(plan.post, outcome, input);
    },
    ...(find && {
      async find(reference, event, document, signal) {
        const input = { event, document, reference };
        const request = await makeRequest(plan, config, 'find', input);
        if (!request.ok) return unmapped(request);
        const outcome = await authorizer.request(
          { ...request.value, maxBodyBytes: MAX_FIND_ANSWER_BYTES, ...(signal && { signal }) },
          true,
        );
        return await interpretFind(find, outcome, input);
      },
    }),
    ...(count && { count: () => readCount(plan, config, count) }),
    ...(list && { list: (since, signal) => listDocuments(list, { ...plan, since, signal }) }),
    close() {}, // the client is the caller's, and there is nothing else
  };
}

type Place = 'post' | 'find' | 'count';
type Made = Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body' | 'repeatable' | 'timeoutMs'>;

/** URL, headers and body of a request. `payload` is sent where the configuration says nothing about the body. */
async function makeRequest(
  plan: Plan,
  config: HttpAdapter,
  place: Place,
  input: object,
  payload?: unknown,
): Promise<Evaluated<Made>> {
  const call: Call | undefined = plan[place];
  const path = await call?.path.evaluate(input);
  if (path?.ok === false) return path;
  const url = plan.url.at(path?.value);
  if (!url.ok) return mappingError(`adapter.${place}.path: ${url.message}`);
  const body = await bodyOf(plan, config, place, input, payload);
  if (!body.ok) return body;
  const { method = 'GET', timeout = 0 } = config[place] ?? {};
  const headers = {
    ...(body.value !== undefined && { 'content-type': 'application/json' }),
    ...plan.headers,
  };
  return {
    ok: true,
    value: {
      method,
      url: url.value,
      headers,
      timeoutMs: timeout,
      repeatable: place !== 'post', // reading changes nothing, by whatever method
      ...(body.value !== undefined && { body: Buffer.from(JSON.stringify(body.value)) }),
    },
  };
}

async function bodyOf(
  plan: Plan,
  config: HttpAdapter,
  place: Place,
  input: object,
  payload: unknown,
): Promise<Evaluated> {
  const expression = plan[place]?.body;
  if (expression === undefined) return { ok: true, value: payload };
  const body = await expression.evaluate({ ...input, secrets: config.secrets });
  // JSONata quotes values in some of its messages, and these are kept.
  if (!body.ok) return { ok: false, message: redacted(body.message, plan.authorizer.secrets()) };
  return body.value === undefined || body.value === null
    ? mappingError(
        `adapter.${place}.body: the expression gave ${kindOf(body.value)}, so there is nothing to send`,
      )
    : body;
}

/** A request that cannot be made: nothing was sent, and nothing will be until somebody corrects it. */
const unmapped = ({ message }: MappingError) =>
  ({ kind: 'failed', class: 'mapping', message, code: '' }) as const;

function idempotency({ idempotencyHeader }: HttpAdapter, reference: string): Record<string, string> {
  return idempotencyHeader === undefined ? {} : { [idempotencyHeader.toLowerCase()]: headerSafe(reference) };
}

const noCount = (why: string): AppError =>
  new AppError('unavailable', `The ERP did not say how many documents it holds: ${why}`);

async function readCount(
  plan: Plan,
  config: HttpAdapter,
  { value }: NonNullable<Plan['count']>,
): Promise<number> {
  const request = await makeRequest(plan, config, 'count', {});
  if (!request.ok) throw noCount(request.message);
  const outcome = await plan.authorizer.request(
    { ...request.value, maxBodyBytes: MAX_COUNT_ANSWER_BYTES },
    true,
  );
  if (outcome.kind === 'withheld') throw noCount('nothing was sent.');
  if (outcome.kind === 'failure') throw noCount(outcome.message);
  if (outcome.status < 200 || outcome.status > 299) throw noCount(`it answered ${outcome.status}.`);
  const result = await value.evaluate({ answer: readAnswer(outcome) });
  if (!result.ok) throw noCount(result.message);
  const total = result.value;
  if (typeof total === 'number' && Number.isSafeInteger(total) && total >= 0) return total;
  throw noCount('adapter.count.value gave no whole number.');
}
