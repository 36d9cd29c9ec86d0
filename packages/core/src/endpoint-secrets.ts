import { invariant } from '@breakwater/runtime/errors';
import { redisNowMs } from '@breakwater/store/clock';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, headerIdentity, secretIdentity } from '@breakwater/store/endpoints';
import type { SecretBox } from '@breakwater/store/secret-box';

/** Secrets that sign at this moment, by Redis' clock: the current one, and former ones until their overlap ends. */
export const inForce = (endpoint: EndpointRecord, nowMs: number): EndpointRecord['secrets'] =>
  endpoint.secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > nowMs);

export interface OpenedEndpoint {
  /** In plain text, the current one first; never empty. */
  readonly secrets: readonly string[];
  /** Static headers in plain text. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Opens what is needed to send to an endpoint now. Redis is asked for the time only during a rotation.
 * Throws AppError encryption_keys_missing, secret_unreadable.
 */
export async function openEndpoint(
  redis: Redis,
  box: SecretBox,
  endpoint: EndpointRecord,
): Promise<OpenedEndpoint> {
  const rotating = endpoint.secrets.some(({ expiresAt }) => expiresAt !== null);
  const signing = rotating ? inForce(endpoint, await redisNowMs(redis)) : endpoint.secrets;
  invariant(signing.length > 0, `endpoint ${endpoint.id} has no secret in force`);
  return {
    secrets: signing.map(({ sealed }) => box.open(sealed, secretIdentity(endpoint))),
    headers: Object.fromEntries(
      Object.entries(endpoint.headers).map(([name, sealed]) => [
        name,
        box.open(sealed, headerIdentity(endpoint, name)),
      ]),
    ),
  };
}

/** Shorter values are no secrets, and masking them would mangle innocent words. */
const CREDENTIAL_CHARS = 6;

/** What must not show in a sample of the receiver's answer: the secrets, and credentials in headers with or without their scheme. */
export const toRedact = ({ secrets, headers }: OpenedEndpoint): string[] => [
  ...secrets,
  ...Object.values(headers)
    .flatMap((value) => [value, value.slice(value.indexOf(' ') + 1)])
    .filter((value) => value.length >= CREDENTIAL_CHARS),
];
