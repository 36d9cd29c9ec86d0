import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { newEndpointId } from '@breakwater/contracts/ids';
import { createEgressGuard } from '@breakwater/http/egress';
import { AppError } from '@breakwater/runtime/errors';
import { newWebhookSecret } from '@breakwater/signatures/standard-webhooks';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, writeEndpoint } from '@breakwater/store/endpoints';
import type { Keyspace } from '@breakwater/store/keys';
import { LEASE_MARGIN_MS } from '@breakwater/store/policy';
import type { SecretBox } from '@breakwater/store/secret-box';

export interface NewEndpoint {
  readonly operator: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly sources: readonly string[];
  readonly description: string;
  readonly body: 'envelope' | 'raw';
  readonly timeoutMs?: number;
  readonly maxInFlight?: number;
  readonly scheduleMs?: readonly number[];
  readonly reference?: 'event' | 'source';
  /** `whsec_...`; made here when it is not given. */
  readonly secret?: string;
}

const TIMEOUT_RANGE_MS = [1_000, 30_000] as const;
const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = [24, 64] as const;

export interface EndpointDraft {
  readonly endpoint: EndpointRecord;
  /** Shown once; the record holds it sealed. */
  readonly secret: string;
}

/** Registers an endpoint, audited. Throws as draftEndpoint does. */
export async function addEndpoint(
  deps: {
    readonly redis: Redis;
    readonly keys: Keyspace;
    readonly config: BreakwaterConfig;
    readonly secrets: SecretBox;
  },
  wanted: NewEndpoint,
  actor: string,
): Promise<EndpointDraft> {
  const draft = draftEndpoint(deps.config, deps.secrets, wanted);
  const { timeoutMs, scheduleMs } = draft.endpoint;
  const policy = { leaseMs: timeoutMs + LEASE_MARGIN_MS, ...(scheduleMs && { scheduleMs }) };
  await writeEndpoint(deps.redis, deps.keys, draft.endpoint, policy, { action: 'endpoint.add', actor });
  return draft;
}

/**
 * Checks what is wanted and makes the record and its secret, without storing anything.
 * Throws AppError request_invalid, address_blocked, encryption_keys_missing.
 */
export function draftEndpoint(
  config: BreakwaterConfig,
  secrets: SecretBox,
  wanted: NewEndpoint,
): EndpointDraft {
  const url = checkEndpointUrl(config, wanted.url);
  const timeoutMs = wanted.timeoutMs ?? config.deliveries.timeout;
  if (timeoutMs < TIMEOUT_RANGE_MS[0] || timeoutMs > TIMEOUT_RANGE_MS[1])
    throw new AppError('request_invalid', 'The timeout of an endpoint is 1s to 30s.');
  const maxInFlight = wanted.maxInFlight ?? config.deliveries.maxInFlight;
  if (!Number.isSafeInteger(maxInFlight) || maxInFlight < 1 || maxInFlight > 1_000)
    throw new AppError('request_invalid', 'The in-flight cap of an endpoint is 1 to 1000.');
  checkFeeding(config, wanted);
  const secret = checkSecret(wanted.secret ?? newWebhookSecret());
  const endpoint: EndpointRecord = {
    id: newEndpointId(),
    operator: wanted.operator,
    url,
    types: wanted.types.length > 0 ? [...wanted.types] : ['*'],
    sources: [...wanted.sources],
    description: wanted.description,
    body: wanted.body,
    timeoutMs,
    maxInFlight,
    scheduleMs: wanted.scheduleMs ? [...wanted.scheduleMs] : null,
    reference: wanted.reference ?? 'event',
    secrets: [secrets.seal(secret)],
    createdAt: Date.now(),
  };
  return { endpoint, secret };
}

/** The canonical URL. Throws AppError address_blocked with the reason. The same guard looks again at every connect. */
export function checkEndpointUrl(config: BreakwaterConfig, text: string): string {
  const checked = createEgressGuard(config.egress).checkUrl(text);
  if (!checked.ok) throw new AppError('address_blocked', checked.message);
  return checked.url.href;
}

/**
 * Event ids are unique per source; an endpoint that several feed needs a reference that tells them apart. Published events
 * count where the endpoint names their source; where it takes every source they always carry theirs (see plan.ts).
 */
function checkFeeding(config: BreakwaterConfig, wanted: NewEndpoint): void {
  const known = Object.entries(config.sources)
    .filter(([, source]) => source.operator === wanted.operator)
    .map(([name]) => name);
  const unknown = wanted.sources.find((name) => !known.includes(name) && name !== RESERVED_SOURCE);
  if (unknown !== undefined)
    throw new AppError('request_invalid', `Operator ${wanted.operator} has no source ${unknown}.`);
  const feeding = wanted.sources.length > 0 ? wanted.sources : known;
  if (feeding.length > 1 && wanted.reference === undefined) {
    throw new AppError(
      'request_invalid',
      `${feeding.join(', ')} feed this endpoint and their event ids may meet. Choose one with --source, or tell them apart with --reference source.`,
    );
  }
}

function checkSecret(secret: string): string {
  const bytes = SECRET.test(secret) ? Buffer.from(secret.slice('whsec_'.length), 'base64').length : 0;
  if (bytes >= SECRET_BYTES[0] && bytes <= SECRET_BYTES[1]) return secret;
  throw new AppError('request_invalid', 'A secret is whsec_ followed by base64 of 24 to 64 bytes.');
}
