import type { RouteSpec } from '@breakwater/contracts/admin-route';
import { ADMIN_ROUTES, type RouteName } from '@breakwater/contracts/admin-routes';
import { AppError } from '@breakwater/runtime/errors';
import { z } from 'zod';
import type { ApiDeps, Handlers, Outcome } from './call.ts';
import { type Caller, checkAccess, operatorOf } from './caller.ts';
import { breakerHandlers } from './handlers/breakers.ts';
import { deliveryHandlers } from './handlers/deliveries.ts';
import { endpointHandlers } from './handlers/endpoints.ts';
import { overviewHandlers } from './handlers/overview.ts';
import { quarantineHandlers } from './handlers/quarantine.ts';
import { reconciliationHandlers } from './handlers/reconciliation.ts';
import { replayHandlers } from './handlers/replays.ts';
import { statsHandlers } from './handlers/stats.ts';
import { sourceHandlers } from './handlers/sources.ts';
import { tokenHandlers } from './handlers/tokens.ts';
import { once } from './idempotency.ts';
import { judgeParams, parse } from './judge.ts';
import type { ApiReply } from './reply.ts';

export interface CallsOptions {
  readonly deps: ApiDeps;
  /** How long a call may take: see DEADLINE_MS. */
  readonly deadlineMs?: number;
  /** Aborted when the process stops. */
  readonly signal: AbortSignal;
}

/** What a caller sent, not yet judged. */
export interface Asked {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  /** Read and judged once the caller is known to be allowed. */
  readonly body?: (route: RouteSpec) => unknown;
  /** Version of If-Match. */
  readonly ifVersion?: (() => number | undefined) | undefined;
  readonly idempotencyKey?: (() => string | undefined) | undefined;
  /** Aborted when nobody waits any more. */
  readonly signal?: AbortSignal;
}

/** Judges one call, from what the token may do to what was sent, and runs it. Throws AppError for every refusal. */
export type Calls = (caller: Caller, name: RouteName, asked: Asked) => Promise<ApiReply>;

/** Redis' scripts connection waits for Redis to come back; a caller does not. */
const DEADLINE_MS = 10_000;
const SLOW_DEADLINE_MS = 60_000;

/** Every query may name an operator. */
const Named = z.looseObject({ operator: z.string().optional() });

/** The calls of the table of routes. The API and the pages are two skins of them: whatever a token may, it may in both. */
export function createCalls({ deps, deadlineMs, signal: stopping }: CallsOptions): Calls {
  const handlers: Handlers = {
    ...endpointHandlers(deps),
    ...deliveryHandlers(deps),
    ...replayHandlers(deps),
    ...overviewHandlers(deps),
    ...statsHandlers(deps),
    ...reconciliationHandlers(deps),
    ...sourceHandlers(deps),
    ...quarantineHandlers(deps),
    ...breakerHandlers(deps),
    ...tokenHandlers(deps),
  };
  return async (caller, name, asked) => {
    const route: RouteSpec = ADMIN_ROUTES[name];
    checkAccess(caller, route.access);
    const params = judgeParams(route, asked.params ?? {});
    const query = parse(route.query, { ...asked.query }, 'query');
    const operator = operatorOf(caller, Named.parse(query).operator);
    const body = await asked.body?.(route);
    const ifVersion = route.versioned ? asked.ifVersion?.() : undefined;
    if (deps.redis.status !== 'ready')
      throw new AppError('unavailable', 'Redis is not reachable at this moment.');
    const signal = asked.signal ? AbortSignal.any([asked.signal, stopping]) : stopping;
    const { actor, token } = caller;
    // The table and the handlers are keyed alike, which the type of Handlers ensures; here the name is any of them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const handler = handlers[name] as unknown as (call: object) => Promise<Outcome<RouteName>>;
    const call = { caller, operator, actor, params, query, body, ifVersion, signal };
    const run = async (): Promise<ApiReply> => {
      const outcome = await handler(call);
      return { status: outcome.status ?? route.status, answer: outcome.answer, version: outcome.version };
    };
    const key = route.creates && asked.idempotencyKey?.();
    const { id, source, eventId } = params;
    const of = [caller.id, operator, name, id, source, eventId];
    return within(deadlineMs ?? (route.slow ? SLOW_DEADLINE_MS : DEADLINE_MS), () =>
      key ? once(deps, { key, of, request: [query, body, ifVersion ?? null], token }, run) : run(),
    );
  };
}

async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(
        new AppError(
          'unavailable',
          `This took longer than ${ms / 1_000} s. Whether it was done is not known.`,
        ),
      ),
    ms,
  );
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
