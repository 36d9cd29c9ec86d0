import { newId } from '@breakwater/contracts/ids';
import { operatorName } from '@breakwater/contracts/operator';
import type { QueueBoard } from '@breakwater/queue/board';
import { AppError } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import express, { type Express, type Request, type Response } from 'express';
import type { Identify } from '../identify.ts';
import { serveAssets } from './assets.ts';
import { createErrorPages } from './error-page.ts';
import { layout } from './layout.ts';
import { isNotice, NOTICES, type Page } from './page.ts';
import { auditPages } from './pages/audit.ts';
import { deadLetterPages } from './pages/dead-letters.ts';
import { deliveriesPages } from './pages/deliveries.ts';
import { deliveryPages } from './pages/delivery.ts';
import { endpointActionPages } from './pages/endpoint-actions.ts';
import { endpointEditPages } from './pages/endpoint-edit.ts';
import { endpointPages } from './pages/endpoint.ts';
import { endpointsPages } from './pages/endpoints.ts';
import { eventPages } from './pages/events.ts';
import { groupReplayPages } from './pages/group-replay.ts';
import { operatorsOf } from './operators.ts';
import { overviewPages } from './pages/overview.ts';
import { quarantinePages } from './pages/quarantine.ts';
import { reconciliationPages } from './pages/reconciliation.ts';
import { replayPages } from './pages/replays.ts';
import { signInForm } from './pages/sign-in.ts';
import { sourcePages } from './pages/sources.ts';
import { tokensPages } from './pages/tokens.ts';
import { link } from './parts.ts';
import { serveQueueBoard } from './queue-board.ts';
import { checkForm, checkOrigin, chooseOperator, type Sessions } from './session.ts';
import { formOf, type VisitDeps, visitOf } from './visit.ts';

export interface UiOptions extends VisitDeps {
  readonly sessions: Sessions;
  readonly board: QueueBoard;
  readonly identify: Identify;
  readonly logger: Logger;
}

/** Every page of a session; the tests in a real browser go through them. */
export const PAGES: readonly Page[] = [
  ...overviewPages,
  ...deliveriesPages,
  ...deliveryPages,
  ...deadLetterPages,
  ...groupReplayPages,
  ...endpointsPages,
  ...endpointEditPages, // before the page of one: /endpoints/new is no id
  ...endpointPages,
  ...endpointActionPages,
  ...reconciliationPages,
  ...replayPages,
  ...eventPages,
  ...sourcePages,
  ...quarantinePages,
  ...auditPages,
  ...tokensPages,
];

/**
 * Only files of ours run or style anything; what a stranger wrote into an event or an answer is text, and stays text even if
 * a page should once forget to escape it. Pages belong to a session, so nothing on the way keeps them.
 */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin', // with no-referrer a browser says that its forms come from "null"
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** The largest form is an endpoint with all its headers and patterns. */
const FORM_MAX_BYTES = 256 * 1024;
const readForm = express.text({
  limit: FORM_MAX_BYTES,
  inflate: false,
  type: 'application/x-www-form-urlencoded',
});

/** The pages of the console. Each is a skin of calls of the admin API, made in the name of whoever signed in. */
export function createUi(options: UiOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.enable('case sensitive routing');
  app.use((_request, response, next) => {
    const requestId = newId();
    response.locals['requestId'] = requestId;
    response.set({ ...HEADERS, 'x-request-id': requestId });
    next();
  });
  serveAssets(app);
  serveSessions(app, options);
  serveQueueBoard(app, options, HEADERS['content-security-policy']);
  for (const page of PAGES) app[page.method](page.path, handlerOf(page, options));
  app.use(() => {
    throw new AppError('not_found', 'There is no such page.', { remedy: 'Begin with the overview.' });
  });
  app.use(createErrorPages(options.logger));
  return app;
}

/** Signing in and out, and whose things an administrator looks at. */
function serveSessions(app: Express, { identify, sessions }: UiOptions): void {
  app.get('/sign-in', (request, response) => {
    const { next } = request.query;
    sendSignIn(response, localPath(next));
  });
  app.post('/sign-in', readForm, async (request, response) => {
    checkOrigin(request);
    const form = formOf(request);
    const token = form.get('token')?.trim() ?? '';
    const next = localPath(form.get('next'));
    try {
      await identify(token, request);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 401) throw error;
      response.status(401);
      return sendSignIn(response, next, error.message);
    }
    await sessions.signIn(request, response, token);
    response.redirect(303, next);
  });
  app.post('/sign-out', readForm, async (request, response) => {
    checkForm(request, (await sessions.tokenOf(request)) ?? '', formOf(request).get('csrf'));
    await sessions.signOut(request, response);
    response.redirect(303, '/sign-in');
  });
  app.post('/operator', readForm, async (request, response) => {
    const form = formOf(request);
    checkForm(request, (await sessions.tokenOf(request)) ?? '', form.get('csrf'));
    const operator = operatorName.safeParse(form.get('operator'));
    if (!operator.success) throw new AppError('request_invalid', 'This is not the name of an operator.');
    chooseOperator(request, response, operator.data);
    response.redirect(303, '/');
  });
}

const sendSignIn = (response: Response, next: string, refusal?: string): void =>
  send(response, layout({ title: 'Sign in', main: signInForm(next, refusal), at: '/sign-in' }));

/** The form of a page is read only once its sender is known. */
function handlerOf(page: Page, options: UiOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const caller = await options.identify(await options.sessions.tokenOf(request), request);
    if (page.method === 'post') await readFormOf(request, response);
    const visit = visitOf(options, caller, request, response);
    const sight = await page.show(visit);
    if ('goTo' in sight) return response.redirect(303, link(sight.goTo, { notice: sight.notice }));
    const { notice } = request.query;
    response.status(sight.status ?? 200);
    send(
      response,
      layout({
        title: sight.title,
        main: sight.main,
        notice: typeof notice === 'string' && isNotice(notice) ? NOTICES[notice] : undefined,
        at: request.path,
        session: {
          caller,
          operator: visit.operator,
          csrf: visit.csrf,
          operators: operatorsOf(options.config),
        },
      }),
    );
  };
}

const readFormOf = (request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    readForm(request, response, (error: unknown) => (error ? reject(error) : resolve()));
  });

const send = (response: Response, page: string): void => void response.type('html').send(page);

/** A path of ours to go on to; anything that a browser might read as another site becomes the overview. */
function localPath(asked: unknown): string {
  if (typeof asked !== 'string' || !/^\/(?![/\\])[\u0021-\u007e]*$/.test(asked)) return '/';
  const here = 'http://here';
  return URL.canParse(asked, here) && new URL(asked, here).origin === here ? asked : '/';
}
