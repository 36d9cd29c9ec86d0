import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { mistakeOfSize } from '@breakwater/contracts/endpoint-headers';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { createEgressGuard } from '@breakwater/http/egress';
import { AppError } from '@breakwater/runtime/errors';
import { isWebhookSecret } from '@breakwater/signatures/standard-webhooks';
import { type EndpointRecord, headerIdentity } from '@breakwater/store/endpoints';
import { type DestinationPolicy, LEASE_MARGIN_MS } from '@breakwater/store/policy';
import { type SecretBox, sealedChars } from '@breakwater/store/secret-box';
import { z } from 'zod';

/** Reads what a caller wants. Throws AppError request_invalid that lists every mistake, without values. */
export function parseSettings<T extends z.ZodType>(schema: T, wanted: unknown): z.output<T> {
  const result = schema.safeParse(wanted);
  if (result.success) return result.data;
  throw new AppError('request_invalid', `The endpoint is not valid:\n${z.prettifyError(result.error)}`);
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
 * `reference` is undefined where nobody has chosen one. Throws AppError request_invalid.
 */
export function checkFeeding(
  config: BreakwaterConfig,
  operator: string,
  sources: readonly string[],
  reference: EndpointRecord['reference'] | undefined,
): void {
  const known = Object.entries(config.sources)
    .filter(([, source]) => source.operator === operator)
    .map(([name]) => name);
  const unknown = sources.find((name) => !known.includes(name) && name !== RESERVED_SOURCE);
  if (unknown !== undefined)
    throw new AppError('request_invalid', `Operator ${operator} has no source ${unknown}.`);
  const feeding = sources.length > 0 ? sources : known;
  if (feeding.length > 1 && reference === undefined) {
    throw new AppError(
      'request_invalid',
      `${feeding.join(', ')} feed this endpoint and their event ids may meet. Choose one with --source, or tell them apart with --reference source.`,
    );
  }
}

/** Throws AppError request_invalid, without the secret. */
export function checkSecret(secret: string): string {
  if (isWebhookSecret(secret)) return secret;
  throw new AppError('request_invalid', 'A secret is whsec_ followed by base64 of 24 to 64 bytes.');
}

/** What an endpoint has of its own in its gate: an attempt may not outlive its lease, and its schedule wins. */
export const policyOfEndpoint = ({
  timeoutMs,
  scheduleMs,
}: Pick<EndpointRecord, 'timeoutMs' | 'scheduleMs'>): DestinationPolicy => ({
  leaseMs: timeoutMs + LEASE_MARGIN_MS,
  ...(scheduleMs && { scheduleMs }),
});

/**
 * The headers of an endpoint after a change, sealed. A value that is the same as before keeps its sealed text, so that
 * nothing looks changed. Throws AppError request_invalid, encryption_keys_missing.
 */
export function mergeHeaders(
  box: SecretBox,
  owner: Pick<EndpointRecord, 'operator' | 'id'>,
  kept: EndpointRecord['headers'],
  wanted: Readonly<Record<string, string | null>>,
): EndpointRecord['headers'] {
  const headers = new Map(Object.entries(kept));
  for (const [name, value] of Object.entries(wanted)) {
    const identity = headerIdentity(owner, name);
    if (value === null) headers.delete(name);
    else if (!holds(box, headers.get(name), identity, value)) headers.set(name, box.seal(value, identity));
  }
  const mistake = mistakeOfSize([...headers].map(([name, sealed]) => [name, sealedChars(sealed)]));
  if (mistake !== undefined) throw new AppError('request_invalid', `The endpoint is not valid: ${mistake}.`);
  return Object.fromEntries(headers);
}

/** One that cannot be opened any more must not be in the way of replacing it. */
function holds(box: SecretBox, sealed: string | undefined, identity: string, value: string): boolean {
  try {
    return sealed !== undefined && box.open(sealed, identity) === value;
  } catch {
    return false;
  }
}
