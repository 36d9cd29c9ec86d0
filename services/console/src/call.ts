import type { ADMIN_ROUTES, RouteName } from '@breakwater/contracts/admin-routes';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import type { AcceptorOptions } from '@breakwater/core/accept';
import type { openDeliveries } from '@breakwater/core/delivery-deps';
import type { HttpClient } from '@breakwater/http/client';
import type { FleetSnapshot } from '@breakwater/runtime/metrics-fleet';
import type { SecretBox } from '@breakwater/store/secret-box';
import type { z } from 'zod';
import type { Caller } from './caller.ts';

/** What handlers work with. */
export type ApiDeps = ReturnType<typeof openDeliveries> & {
  readonly config: BreakwaterConfig;
  readonly secrets: SecretBox;
  /** Guarded, for tests of endpoints. */
  readonly client: HttpClient;
  /** The latest figures of the fleet; undefined while there are none, or they are too old. */
  readonly fleet: () => TakenSnapshot | undefined;
  /** Where the accept step of ingest is opened, for what was refused and is right today. */
  readonly accepting: AcceptorOptions;
};

export interface TakenSnapshot {
  readonly snapshot: FleetSnapshot;
  /** ms since the epoch. */
  readonly takenAt: number;
}

type Route<N extends RouteName> = (typeof ADMIN_ROUTES)[N];
type BodyOf<N extends RouteName> =
  Route<N> extends { readonly body: infer B extends z.ZodType } ? z.output<B> : undefined;

/** One call, judged: the token may do this, and what was sent is valid. */
export interface Call<N extends RouteName> {
  readonly caller: Caller;
  /** Whose things these are. */
  readonly operator: string;
  readonly actor: string;
  /** The path's own, decoded. */
  readonly params: {
    readonly id: string;
    readonly source: string;
    readonly target: string;
    readonly eventId: string;
  };
  readonly query: z.output<Route<N>['query']>;
  readonly body: BodyOf<N>;
  /** Version of If-Match. */
  readonly ifVersion: number | undefined;
  readonly signal: AbortSignal;
}

export interface Outcome<N extends RouteName> {
  readonly answer: z.input<Route<N>['answer']>;
  readonly version?: number;
  /** Where it is not the route's own. */
  readonly status?: number;
}

export type Handler<N extends RouteName> = (call: Call<N>) => Promise<Outcome<N>>;
export type Handlers = { readonly [N in RouteName]: Handler<N> };

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Without the members that are undefined, for those who tell "left out" from "undefined". */
// oxlint-disable typescript/no-unsafe-type-assertion -- Object.entries forgets which members there are
export const defined = <T extends object>(value: T): Defined<T> =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>;
