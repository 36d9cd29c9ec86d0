import type { z } from 'zod';
import { BODIES, PARAMS, QUERIES } from './admin-requests.ts';
import { ANSWERS } from './admin-views.ts';

export type Access =
  /** Tokens that read, operators', administrators'. */
  | 'read'
  /** Operators' and administrators'. */
  | 'change'
  /** Administrators' alone: what belongs to no operator. */
  | 'admin';

export interface RouteSpec {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** Below /api/v1; parameters as OpenAPI writes them. */
  readonly path: string;
  readonly summary: string;
  readonly access: Access;
  readonly query: z.ZodType;
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
  readonly status: 200 | 201 | 202;
  /** Takes an Idempotency-Key: what it makes is made once however often it is asked for. */
  readonly creates?: true;
  /** Takes If-Match, and says the version in an ETag. */
  readonly versioned?: true;
  /** It walks through a list of deliveries: its deadline is longer. */
  readonly slow?: true;
}

/** Every route of the admin API. The server, the OpenAPI document and the tests of isolation are made of this table. */
export const ADMIN_ROUTES = {
  listEndpoints: {
    method: 'get',
    path: '/endpoints',
    summary: 'Endpoints of an operator, in the order of their ids',
    access: 'read',
    query: QUERIES.page,
    answer: ANSWERS.endpoints,
    status: 200,
  },
  createEndpoint: {
    method: 'post',
    path: '/endpoints',
    summary: 'Register an endpoint; its signing secret is shown this once',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.newEndpoint,
    answer: ANSWERS.endpointWithSecret,
    status: 201,
    creates: true,
  },
  getEndpoint: {
    method: 'get',
    path: '/endpoints/{id}',
    summary: 'One endpoint',
    access: 'read',
    query: QUERIES.plain,
    answer: ANSWERS.endpoint,
    status: 200,
    versioned: true,
  },
  updateEndpoint: {
    method: 'patch',
    path: '/endpoints/{id}',
    summary: 'Change what is given and keep the rest',
    access: 'change',
    query: QUERIES.change,
    body: BODIES.endpointPatch,
    answer: ANSWERS.endpoint,
    status: 200,
    versioned: true,
  },
  removeEndpoint: {
    method: 'delete',
    path: '/endpoints/{id}',
    summary: 'Remove an endpoint; its open deliveries are dead-lettered',
    access: 'change',
    query: QUERIES.change,
    answer: ANSWERS.removal,
    status: 200,
    versioned: true,
    slow: true,
  },
  pauseEndpoint: {
    method: 'post',
    path: '/endpoints/{id}/pause',
    summary: 'Hold its deliveries',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.reason,
    answer: ANSWERS.moved,
    status: 200,
  },
  resumeEndpoint: {
    method: 'post',
    path: '/endpoints/{id}/resume',
    summary: 'Release its deliveries, beginning with one at a time',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.reason,
    answer: ANSWERS.moved,
    status: 200,
  },
  rotateSecret: {
    method: 'post',
    path: '/endpoints/{id}/rotate-secret',
    summary: 'Give it a new signing secret, shown this once; the former one signs too during the overlap',
    access: 'change',
    query: QUERIES.change,
    body: BODIES.rotation,
    answer: ANSWERS.endpointWithSecret,
    status: 200,
    creates: true,
    versioned: true,
  },
  finishRotation: {
    method: 'post',
    path: '/endpoints/{id}/finish-rotation',
    summary: 'End the overlap of a rotation now',
    access: 'change',
    query: QUERIES.change,
    body: BODIES.none,
    answer: ANSWERS.moved,
    status: 200,
    versioned: true,
  },
  testEndpoint: {
    method: 'post',
    path: '/endpoints/{id}/test',
    summary: 'Send one signed request of type breakwater.test, which is no delivery',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.none,
    answer: ANSWERS.endpointTest,
    status: 200,
    slow: true,
  },
  listDeliveries: {
    method: 'get',
    path: '/deliveries',
    summary: 'Deliveries that fit every filter given, newest first',
    access: 'read',
    query: QUERIES.deliveries,
    answer: ANSWERS.deliveries,
    status: 200,
  },
  getDelivery: {
    method: 'get',
    path: '/deliveries/{id}',
    summary: 'One delivery with its attempts and the sample of the last answer',
    access: 'read',
    query: QUERIES.plain,
    answer: ANSWERS.delivery,
    status: 200,
  },
  replayDelivery: {
    method: 'post',
    path: '/deliveries/{id}/replay',
    summary: 'Add one attempt, or restart the schedule. It repeats the message, not the money',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.replay,
    answer: ANSWERS.replay,
    status: 202,
    creates: true,
  },
  resolveDelivery: {
    method: 'post',
    path: '/deliveries/{id}/resolve',
    summary: 'Close a dead letter that a person settled otherwise',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.reason,
    answer: ANSWERS.resolved,
    status: 200,
  },
  listReplays: {
    method: 'get',
    path: '/replays',
    summary: 'Bulk replays, newest first',
    access: 'read',
    query: QUERIES.page,
    answer: ANSWERS.replayRuns,
    status: 200,
  },
  createReplay: {
    method: 'post',
    path: '/replays',
    summary: 'Replay all that the filters choose, or say what that would do',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.bulkReplay,
    answer: ANSWERS.replayStarted,
    status: 202,
    creates: true,
    slow: true,
  },
  getReplay: {
    method: 'get',
    path: '/replays/{id}',
    summary: 'One bulk replay: how far it is, the first of its failures and refusals',
    access: 'read',
    query: QUERIES.plain,
    answer: ANSWERS.replayRun,
    status: 200,
  },
  cancelReplay: {
    method: 'post',
    path: '/replays/{id}/cancel',
    summary: 'Stop it between two replays',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.reason,
    answer: ANSWERS.replayMoved,
    status: 200,
  },
  resumeReplay: {
    method: 'post',
    path: '/replays/{id}/resume',
    summary: 'Let it go on where it stopped',
    access: 'change',
    query: QUERIES.plain,
    body: BODIES.reason,
    answer: ANSWERS.replayMoved,
    status: 200,
  },
  getEvent: {
    method: 'get',
    path: '/events/{source}/{eventId}',
    summary: 'An accepted event, its deliveries, its documents in ERPs',
    access: 'read',
    query: QUERIES.event,
    answer: ANSWERS.event,
    status: 200,
  },
  getStats: {
    method: 'get',
    path: '/stats',
    summary: 'Counters of an operator, and of the fleet for a token of every operator',
    access: 'read',
    query: QUERIES.plain,
    answer: ANSWERS.stats,
    status: 200,
  },
  listAudit: {
    method: 'get',
    path: '/audit',
    summary: 'Who did what and why, newest first',
    access: 'read',
    query: QUERIES.audit,
    answer: ANSWERS.audit,
    status: 200,
  },
  listTokens: {
    method: 'get',
    path: '/tokens',
    summary: 'Every token, without its value',
    access: 'admin',
    query: QUERIES.plain,
    answer: ANSWERS.tokens,
    status: 200,
  },
  createToken: {
    method: 'post',
    path: '/tokens',
    summary: 'Make a token; its value is shown this once',
    access: 'admin',
    query: QUERIES.plain,
    body: BODIES.newToken,
    answer: ANSWERS.tokenCreated,
    status: 201,
    creates: true,
  },
  revokeToken: {
    method: 'delete',
    path: '/tokens/{id}',
    summary: 'End a token; within 5 s nothing takes it any more',
    access: 'admin',
    query: QUERIES.change,
    answer: ANSWERS.tokenRevoked,
    status: 200,
  },
} as const satisfies Record<string, RouteSpec>;

export type RouteName = keyof typeof ADMIN_ROUTES;

const isRoute = (name: string): name is RouteName => name in ADMIN_ROUTES;
export const ROUTE_NAMES: readonly RouteName[] = Object.keys(ADMIN_ROUTES).filter(isRoute);

/** Names of the parameters of a path, in order. */
export const paramsOf = (path: string): (keyof typeof PARAMS)[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) => param).filter(isParam);

const isParam = (param: string): param is keyof typeof PARAMS => param in PARAMS;
