import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { EndpointPatch, NewEndpointSettings } from '@breakwater/contracts/endpoint';
import { operatorName } from '@breakwater/contracts/operator';
import { newEndpointId } from '@breakwater/contracts/ids';
import { AppError, invariant } from '@breakwater/runtime/errors';
import { newWebhookSecret } from '@breakwater/signatures/standard-webhooks';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, secretIdentity, writeEndpoint } from '@breakwater/store/endpoints';
import type { Keyspace } from '@breakwater/store/keys';
import type { SecretBox } from '@breakwater/store/secret-box';
import { getEndpoint } from './destination-gates.ts';
import {
  checkEndpointUrl,
  checkFeeding,
  checkSecret,
  mergeHeaders,
  parseSettings,
  policyOfEndpoint,
} from './endpoint-rules.ts';
import { auditOfChange, differs, withoutSecrets } from './endpoint-view.ts';

export interface EndpointDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly config: BreakwaterConfig;
  readonly secrets: SecretBox;
}

export type NewEndpoint = NewEndpointSettings & { readonly operator: string };

export interface EndpointDraft {
  readonly endpoint: EndpointRecord;
  /** Shown once; the record holds it sealed. */
  readonly secret: string;
}

/** Registers an endpoint, audited. Throws as draftEndpoint does. */
export async function addEndpoint(
  deps: EndpointDeps,
  wanted: NewEndpoint,
  actor: string,
): Promise<EndpointDraft> {
  const draft = draftEndpoint(deps.config, deps.secrets, wanted);
  const { endpoint } = draft;
  const audit = {
    action: 'endpoint.add',
    actor,
    details: { after: JSON.stringify(withoutSecrets(endpoint)) },
  };
  const answer = await writeEndpoint(deps.redis, deps.keys, endpoint, policyOfEndpoint(endpoint), audit);
  invariant(answer.kind === 'ok', `the new endpoint id ${endpoint.id} was taken`);
  return draft;
}

/**
 * Checks what is wanted and makes the record and its secret, without storing anything.
 * Throws AppError request_invalid, address_blocked, encryption_keys_missing.
 */
export function draftEndpoint(
  config: BreakwaterConfig,
  secrets: SecretBox,
  { operator: named, ...wanted }: NewEndpoint,
): EndpointDraft {
  const operator = parseSettings(operatorName, named);
  const settings = parseSettings(NewEndpointSettings, wanted);
  const { sources = [], reference } = settings;
  const url = checkEndpointUrl(config, settings.url);
  checkFeeding(config, operator, sources, reference);
  const secret = checkSecret(settings.secret ?? newWebhookSecret());
  const owner = { operator, id: newEndpointId() };
  const now = Date.now();
  const endpoint: EndpointRecord = {
    ...owner,
    version: 1,
    url,
    types: settings.types ?? ['*'],
    sources,
    description: settings.description ?? '',
    body: settings.body ?? 'envelope',
    timeoutMs: settings.timeoutMs ?? config.deliveries.timeout,
    maxInFlight: settings.maxInFlight ?? config.deliveries.maxInFlight,
    rateLimit: settings.rateLimit ?? null,
    scheduleMs: settings.scheduleMs ?? null,
    reference: reference ?? 'event',
    headers: mergeHeaders(secrets, owner, {}, settings.headers ?? {}),
    secrets: [{ sealed: secrets.seal(secret, secretIdentity(owner)), createdAt: now, expiresAt: null }],
    createdAt: now,
    updatedAt: now,
  };
  return { endpoint, secret };
}

export interface EndpointChange {
  readonly operator: string;
  readonly id: string;
  /** Version that the caller has seen; the change is refused when there is a newer one. */
  readonly ifVersion?: number;
  readonly actor: string;
  readonly reason?: string;
}

/**
 * Changes an endpoint, audited with what differs. Deliveries that have not begun an attempt follow at once: URL, headers,
 * body and timeout are read at every attempt. A new schedule decides the waits after attempts that end from now on; an
 * alarm that is armed already rings when it was going to. Types, sources and reference count for events fanned out from
 * now on. Resolves to the endpoint, and to false where nothing differs.
 * Throws AppError not_found, version_conflict, request_invalid, address_blocked, encryption_keys_missing.
 */
export async function updateEndpoint(
  deps: EndpointDeps,
  change: EndpointChange,
  patch: EndpointPatch,
  options: { readonly dryRun?: boolean } = {},
): Promise<{ readonly endpoint: EndpointRecord; readonly changed: boolean }> {
  const before = await getEndpointVersion(deps, change);
  const after = patched(deps, before, parseSettings(EndpointPatch, patch));
  if (!differs(before, after)) return { endpoint: before, changed: false };
  if (options.dryRun) return { endpoint: after, changed: true };
  return { endpoint: await storeChange(deps, change, 'endpoint.update', before, after), changed: true };
}

/** Reads an endpoint for a change. Throws AppError not_found, version_conflict. */
export async function getEndpointVersion(
  { redis, keys }: Pick<EndpointDeps, 'redis' | 'keys'>,
  { operator, id, ifVersion }: EndpointChange,
): Promise<EndpointRecord> {
  const endpoint = await getEndpoint(redis, keys, operator, id);
  if (ifVersion !== undefined && ifVersion !== endpoint.version)
    throw conflict(id, ifVersion, endpoint.version);
  return endpoint;
}

/** Stores `after` as the version that follows `before`. Throws AppError version_conflict, not_found. */
export async function storeChange(
  { redis, keys }: Pick<EndpointDeps, 'redis' | 'keys'>,
  { actor, reason }: EndpointChange,
  action: string,
  before: EndpointRecord,
  after: EndpointRecord,
): Promise<EndpointRecord> {
  const next = { ...after, version: before.version + 1, updatedAt: Date.now() };
  const audit = {
    action,
    actor,
    details: { ...auditOfChange(before, next), ...(reason !== undefined && { reason }) },
  };
  const answer = await writeEndpoint(redis, keys, next, policyOfEndpoint(next), audit, before.version);
  if (answer.kind === 'conflict') throw conflict(before.id, before.version, answer.version);
  if (answer.kind === 'not_found')
    throw new AppError('not_found', `Endpoint ${before.id} was removed meanwhile.`, { remedy: '' });
  return next;
}

export const conflict = (id: string, read: number, stored: number): AppError =>
  new AppError(
    'version_conflict',
    `${id} is at version ${stored}; the change was made for version ${read}.`,
    {
      details: { version: stored },
    },
  );

function patched(
  { config, secrets }: EndpointDeps,
  before: EndpointRecord,
  { headers, url, ...rest }: ReturnType<typeof EndpointPatch.parse>,
): EndpointRecord {
  const settings = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const after: EndpointRecord = { ...before, ...settings };
  if (url !== undefined) after.url = checkEndpointUrl(config, url);
  // `event` may be a default that was right while one source fed it; with other sources it has to be said again.
  if (rest.sources !== undefined)
    checkFeeding(config, before.operator, rest.sources, rest.reference ?? sourceOnly(before.reference));
  if (headers !== undefined) after.headers = mergeHeaders(secrets, before, before.headers, headers);
  return after;
}

const sourceOnly = (reference: EndpointRecord['reference']): 'source' | undefined =>
  reference === 'source' ? reference : undefined;
