import { OVERLAP_MAX_MS } from '@breakwater/contracts/endpoint';
import { formatDuration } from '@breakwater/contracts/duration';
import { AppError } from '@breakwater/runtime/errors';
import { newWebhookSecret } from '@breakwater/signatures/standard-webhooks';
import { redisNowMs } from '@breakwater/store/clock';
import { type EndpointRecord, secretIdentity } from '@breakwater/store/endpoints';
import { type EndpointChange, type EndpointDeps, getEndpointVersion, storeChange } from './endpoints.ts';
import { inForce } from './endpoint-secrets.ts';
import { checkSecret } from './endpoint-rules.ts';

export interface Rotation {
  /** How long the former secret signs as well, ms; 0 ends it at once. */
  readonly overlapMs: number;
  /** `whsec_...`; made here when it is not given. */
  readonly secret?: string;
}

/**
 * Gives an endpoint a new secret. Until the overlap ends both sign, so a receiver with either accepts; then only the new
 * one does, without anybody doing anything. During an overlap no second one begins: a receiver that has not moved yet
 * would be cut off, or the header grow without end. Resolves to the secret, which is shown once.
 * Throws AppError not_found, version_conflict, request_invalid, rotation_open, encryption_keys_missing.
 */
export async function rotateSecret(
  deps: EndpointDeps,
  change: EndpointChange,
  { overlapMs, secret: given }: Rotation,
  options: { readonly dryRun?: boolean } = {},
): Promise<{ readonly endpoint: EndpointRecord; readonly secret: string }> {
  if (!Number.isSafeInteger(overlapMs) || overlapMs < 0 || overlapMs > OVERLAP_MAX_MS)
    throw new AppError('request_invalid', `The overlap is 0s to ${formatDuration(OVERLAP_MAX_MS)}.`);
  const secret = checkSecret(given ?? newWebhookSecret());
  const before = await getEndpointVersion(deps, change);
  const now = await redisNowMs(deps.redis);
  const former = inForce(before, now);
  const open = former.find(({ expiresAt }) => expiresAt !== null);
  if (open?.expiresAt && overlapMs > 0) {
    throw new AppError(
      'rotation_open',
      `The secret of ${before.id} is being rotated already, for another ${formatDuration(open.expiresAt - now)}.`,
    );
  }
  const after: EndpointRecord = {
    ...before,
    secrets: [
      { sealed: deps.secrets.seal(secret, secretIdentity(before)), createdAt: now, expiresAt: null },
      ...(overlapMs > 0 ? former.map((each) => ({ ...each, expiresAt: now + overlapMs })) : []),
    ],
  };
  if (options.dryRun) return { endpoint: after, secret };
  return { endpoint: await storeChange(deps, change, 'endpoint.rotate-secret', before, after), secret };
}

/**
 * Ends the overlap of a rotation now: only the newest secret signs from here on. Resolves to false where none was open.
 * Throws AppError not_found, version_conflict.
 */
export async function finishRotation(
  deps: Pick<EndpointDeps, 'redis' | 'keys'>,
  change: EndpointChange,
  options: { readonly dryRun?: boolean } = {},
): Promise<{ readonly endpoint: EndpointRecord; readonly changed: boolean }> {
  const before = await getEndpointVersion(deps, change);
  const after = { ...before, secrets: before.secrets.filter(({ expiresAt }) => expiresAt === null) };
  const changed = inForce(before, await redisNowMs(deps.redis)).length > after.secrets.length;
  if (!changed || options.dryRun) return { endpoint: before, changed };
  return { endpoint: await storeChange(deps, change, 'endpoint.finish-rotation', before, after), changed };
}
