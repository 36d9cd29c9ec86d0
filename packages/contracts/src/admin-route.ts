import type { z } from 'zod';
import { PARAMS } from './admin-requests.ts';

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

/** Names of the parameters of a path, in order. */
export const paramsOf = (path: string): (keyof typeof PARAMS)[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) => param).filter(isParam);

const isParam = (param: string): param is keyof typeof PARAMS => param in PARAMS;
