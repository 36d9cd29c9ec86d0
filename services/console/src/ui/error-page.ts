import { AppError, ERROR_CODES, messageOf } from '@breakwater/runtime/errors';
import { limitLines } from '@breakwater/runtime/log-limit';
import type { Logger } from '@breakwater/runtime/logger';
import { html } from '@remix-run/html-template';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { layout } from './layout.ts';
import { link, when } from './parts.ts';
import { remedyAtPage } from './remedies.ts';

/** The last handler: whatever was thrown becomes a page that says what was wrong, what to do, and how to find it in the log. */
export function createErrorPages(logger: Logger): ErrorRequestHandler {
  const lines = limitLines(logger);
  return (thrown: unknown, request, response, _next) => {
    if (response.headersSent) return void response.destroy();
    const error = toAppError(thrown);
    const { code, message, status } = error;
    const remedy = remedyFor(error, request);
    const line = { requestId: String(response.locals['requestId']), code, path: request.route?.path };
    if (code === 'internal') lines.error(code, { ...line, err: thrown }, 'a page failed');
    else if (code === 'unavailable')
      lines.warn(code, { ...line, reason: messageOf(thrown) }, 'a page was not shown');
    else logger.debug(line, 'a page was refused');
    if (status === 401) return signInFirst(request, response);
    const wait = waitOf(error);
    if (wait !== undefined) response.set('retry-after', String(wait));
    const main = html`<p class="error" role="alert">
        ${code === 'internal' ? 'The page failed here.' : message}
      </p>
      ${when(remedy !== '', html`<p>${remedy}</p>`)}
      <p>
        <small>Request ${line.requestId} · <code>${code}</code></small>
      </p>
      <p><a class="button" href="/">Overview</a></p>`;
    response
      .status(status)
      .type('html')
      .send(layout({ title: 'That did not work', main, at: request.path }));
  };
}

const UNAVAILABLE_WAIT_S = 5;

/** For how many seconds it will not help to ask again; undefined where it does not depend on time. */
function waitOf({ code, details }: AppError): number | undefined {
  if (code === 'unavailable') return UNAVAILABLE_WAIT_S;
  return code === 'rate_limited' ? Number(details['retryAfterS']) : undefined;
}

/** What a person can do: a browser shows no header, and a form may have done its work although nothing was answered. */
function remedyFor(error: AppError, { method }: Request): string {
  const wait = waitOf(error);
  if (wait === undefined) return remedyAtPage(error);
  if (error.code === 'unavailable' && method === 'POST')
    return `Wait for ${wait} s, and look whether it was done before you send the form again.`;
  return `Try again in ${wait} s.`;
}

function signInFirst(request: Request, response: Response): void {
  // Only what can be opened again is worth coming back to.
  const next = request.method === 'GET' && request.originalUrl !== '/' ? request.originalUrl : undefined;
  const to = link('/sign-in', { next });
  // A part of a page that reads itself again would otherwise show the sign-in form in its place.
  if (request.headers['hx-request'] === 'true') return void response.set('hx-redirect', to).status(204).end();
  response.redirect(303, to);
}

function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const status = thrown instanceof Error && 'status' in thrown ? thrown.status : 500;
  if (status === 413) return new AppError('body_too_large', 'The form is too large.', { remedy: '' });
  if (status === 415)
    return new AppError('encoding_unsupported', 'The form has a content encoding. Send it without one.');
  if (status === 400)
    return new AppError('request_invalid', 'The address or the form is not encoded as browsers do.');
  return new AppError('internal', ERROR_CODES.internal.remedy, { cause: thrown });
}
