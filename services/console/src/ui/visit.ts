import type { BreakwaterConfig } from '@breakwater/contracts/config';
import type { Request, Response } from 'express';
import { type Caller, operatorOf } from '../caller.ts';
import type { Calls } from '../calls.ts';
import { parse } from '../judge.ts';
import type { Answer, Visit } from './page.ts';
import { checkForm, chooseOperator, csrfOf, operatorChosen } from './session.ts';

export interface VisitDeps {
  readonly calls: Calls;
  readonly config: BreakwaterConfig;
}

/** The fields of a form; none where nothing was sent, or not as a form. */
export const formOf = (request: Request): URLSearchParams =>
  new URLSearchParams(typeof request.body === 'string' ? request.body : '');

/**
 * What a page is given to work with. Throws AppError form_foreign for a form that is not of this session, token_scope for
 * an operator that is not the caller's.
 */
export function visitOf(
  { calls, config }: VisitDeps,
  caller: Caller,
  request: Request,
  response: Response,
): Visit {
  const fields = formOf(request);
  const proven = request.method === 'POST' ? checkForm(request, caller.token, fields.get('csrf')) : undefined;
  const { operator: named, notice: _notice, ...query } = textsOf(request.query);
  const everybodys = caller.scope.operator === null;
  const operator = operatorOf(caller, proven ?? named ?? (everybodys ? operatorChosen(request) : undefined));
  // A link for a colleague chooses, and a form for the page that follows it; not a part that reads itself again in some tab.
  if (everybodys && (proven ?? named) !== undefined && request.headers['hx-request'] !== 'true')
    chooseOperator(request, response, operator);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return {
    caller,
    operator,
    params: textsOf(request.params),
    query,
    form: Object.fromEntries(fields),
    fields,
    config,
    csrf: csrfOf(caller.token, operator),
    now: Date.now(),
    async call(name, { params, query: asked, body, ifVersion, idempotencyKey } = {}) {
      const reply = await calls(caller, name, {
        ...(params && { params }),
        query: { operator, ...asked },
        body: (route) => route.body && parse(route.body, body, 'form'),
        ifVersion: () => ifVersion,
        idempotencyKey: () => idempotencyKey,
        signal: gone.signal,
      });
      // The table of routes says what each of them answers.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return reply.answer as Answer<typeof name>;
    },
  };
}

const textsOf = (values: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    ),
  );
