import { AppError } from '@breakwater/runtime/errors';
import { redisNowMs } from '@breakwater/store/clock';
import type { Redis } from '@breakwater/store/connection';
import {
  type EndpointRecord,
  headerIdentity,
  scanEndpoints,
  secretIdentity,
  swapEndpointRecord,
} from '@breakwater/store/endpoints';
import type { Keyspace } from '@breakwater/store/keys';
import { isOutdated, keyOfSealed, type SecretBox } from '@breakwater/store/secret-box';
import { inForce } from './endpoint-secrets.ts';

export interface Reencryption {
  /** Endpoints of all operators. */
  readonly endpoints: number;
  /** Endpoints that were sealed anew, or would be. */
  readonly reencrypted: number;
  /** Endpoints that are sealed with the newest key already. */
  readonly current: number;
  /** Endpoints that a change came in between of: another run does them. */
  readonly changedMeanwhile: number;
  /** Endpoints with a secret that no key here opens. They stay as they are. */
  readonly unreadable: readonly { readonly id: string; readonly operator: string; readonly why: string }[];
  /** Secrets and header values per key id, after the run. */
  readonly sealedWith: Readonly<Record<string, number>>;
  /** False when it was stopped in the middle; another run goes on. */
  readonly finished: boolean;
}

/**
 * Seals every stored secret with the newest encryption key, so that the older ones can be dropped. Reads and writes one
 * record at a time and skips what is done, so it may be stopped and run again. Former secrets whose overlap has ended
 * are left out. Throws AppError encryption_keys_missing when there is no key at all.
 */
export async function reencryptSecrets(
  deps: { readonly redis: Redis; readonly keys: Keyspace; readonly secrets: SecretBox },
  options: {
    readonly actor: string;
    readonly dryRun?: boolean;
    readonly signal?: AbortSignal;
    readonly onProgress?: (looked: number) => void;
  },
): Promise<Reencryption> {
  const { redis, keys, secrets } = deps;
  secrets.seal('', 'check'); // says at once that there is no key
  const result = { endpoints: 0, reencrypted: 0, current: 0, changedMeanwhile: 0, finished: true };
  const unreadable: { id: string; operator: string; why: string }[] = [];
  const sealedWith = new Map<string, number>();
  const now = await redisNowMs(redis);
  const audit = { action: 'endpoint.reencrypt', actor: options.actor };
  for await (const { stored, endpoint } of scanEndpoints(redis, keys)) {
    if (options.signal?.aborted) {
      result.finished = false;
      break;
    }
    result.endpoints += 1;
    options.onProgress?.(result.endpoints);
    let left = endpoint;
    try {
      const next = resealed(secrets, endpoint, now);
      if (next === undefined) result.current += 1;
      else if (options.dryRun) result.reencrypted += 1;
      else if (await swapEndpointRecord(redis, keys, stored, next, audit)) {
        result.reencrypted += 1;
        left = next;
      } else result.changedMeanwhile += 1;
    } catch (error) {
      if (!(error instanceof AppError)) throw error; // Redis' trouble ends the run
      unreadable.push({ id: endpoint.id, operator: endpoint.operator, why: error.message });
    }
    for (const text of sealedTexts(left))
      sealedWith.set(keyOfSealed(text), (sealedWith.get(keyOfSealed(text)) ?? 0) + 1);
  }
  return { ...result, unreadable, sealedWith: Object.fromEntries(sealedWith) };
}

const sealedTexts = (endpoint: EndpointRecord): string[] => [
  ...endpoint.secrets.map(({ sealed }) => sealed),
  ...Object.values(endpoint.headers),
];

/** The record with everything sealed by the newest key; undefined when it is already. Throws when a text cannot be opened. */
function resealed(box: SecretBox, endpoint: EndpointRecord, now: number): EndpointRecord | undefined {
  if (!sealedTexts(endpoint).some((text) => isOutdated(text, box.newestKey))) return undefined;
  const reseal = (sealed: string, identity: string): string => box.seal(box.open(sealed, identity), identity);
  return {
    ...endpoint,
    secrets: inForce(endpoint, now).map((secret) => ({
      ...secret,
      sealed: reseal(secret.sealed, secretIdentity(endpoint)),
    })),
    headers: Object.fromEntries(
      Object.entries(endpoint.headers).map(([name, sealed]) => [
        name,
        reseal(sealed, headerIdentity(endpoint, name)),
      ]),
    ),
  };
}
