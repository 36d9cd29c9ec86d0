import type { RequestListener } from 'node:http';
import type { QueueBoard } from '@breakwater/queue/board';
import { createApi } from './api.ts';
import { type CallsOptions, createCalls } from './calls.ts';
import { createIdentification, type IdentifyOptions } from './identify.ts';
import type { Sessions } from './ui/session.ts';
import { createUi } from './ui/ui.ts';

export type ConsoleOptions = CallsOptions &
  Omit<IdentifyOptions, 'adminToken'> & { readonly board: QueueBoard; readonly sessions: Sessions };

/** The admin API under /api and the pages everywhere else: the same calls, judged alike, for the same tokens. */
export function createConsole(options: ConsoleOptions): RequestListener {
  const { board, sessions } = options;
  const { config, logger } = options.deps;
  const calls = createCalls(options);
  const identify = createIdentification({ ...options, adminToken: config.adminToken });
  const api = createApi({ calls, identify, logger });
  const ui = createUi({ calls, identify, config, logger, board, sessions });
  return (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0];
    return path === '/api' || path?.startsWith('/api/') ? api(request, response) : ui(request, response);
  };
}
