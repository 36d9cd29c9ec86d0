import type { QueueBoard } from '@breakwater/queue/board';
import { AppError } from '@breakwater/runtime/errors';
import express, { type Express, type Request, Router } from 'express';
import { checkAccess } from '../caller.ts';
import type { Identify } from '../identify.ts';
import { assetPath } from './assets.ts';
import type { Sessions } from './session.ts';

/** Where the queues are shown as people who know BullMQ expect it. */
export const BOARD_PATH = '/queues';

interface BoardOptions {
  readonly board: QueueBoard;
  readonly identify: Identify;
  readonly sessions: Sessions;
}

/**
 * bull-board, for administrators, to look at: queues are everybody's, whichever operator an event is of. Nothing but GET
 * and HEAD comes through, whatever it has behind that. `policy`: the one of all pages, which is loosened as little as it
 * takes, here alone: its page has a base address.
 */
export function serveQueueBoard(
  app: Express,
  { board, identify, sessions }: BoardOptions,
  policy: string,
): void {
  const router = Router({ caseSensitive: true });
  router.use(async (request, response, next) => {
    const caller = await identify(await sessions.tokenOf(request), request);
    checkAccess(caller, 'admin');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.set('allow', 'GET, HEAD');
      throw new AppError('method_not_allowed', 'The queues are shown, not changed, here.', {
        remedy: 'Deliveries are replayed on their pages; so what was recorded and what is queued stay one.',
      });
    }
    response.set('content-security-policy', policy.replace("base-uri 'none'", "base-uri 'self'"));
    next();
  });
  router.use('/static', express.static(board.files, { index: false, redirect: false }));
  for (const { path, answer } of board.reads)
    router.get(path, async (request, response) => {
      const { status, body } = await answer({
        params: textsOf(request.params),
        query: textsOf(request.query),
      });
      response.status(status).json(body);
    });
  const page = pageOf(board);
  for (const path of board.pages)
    router.get(path, (_request, response) => void response.type('html').send(page));
  app.use(BOARD_PATH, router);
}

/** Every text in it is of the two packages; its scripts draw the rest. */
const pageOf = ({ scripts, styles, config }: QueueBoard): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<base href="${BOARD_PATH}/" />
<link rel="icon" id="fav-logo" href="${assetPath('icon.svg')}" type="image/svg+xml" />
<title>Queues · Breakwater</title>
${styles.map((name) => `<link rel="stylesheet" href="static/${name}" />`).join('\n')}
<link rel="stylesheet" href="${assetPath('board.css')}" />
</head>
<body>
<a class="back" href="/">← Back to Breakwater</a>
<script id="__UI_CONFIG__" type="application/json">${config}</script>
<div id="root"><noscript>This page is drawn by scripts.</noscript></div>
${scripts.map((name) => `<script defer src="static/${name}"></script>`).join('\n')}
</body>
</html>`;

const textsOf = (values: Request['query'] | Request['params']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
