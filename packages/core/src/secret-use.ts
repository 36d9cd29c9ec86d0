import type { Source } from '@breakwater/contracts/source-config';
import { isCurrent, secretsOf } from '@breakwater/signatures/keys';
import type { SourceUse } from '@breakwater/store/source-use';

/**
 * - `removable`: long unused, while another secret did its work.
 * - `in_use`: used, or too recently used or added to say.
 * - `only_one`: a check has no other secret that is in force.
 * - `waiting`: others are not used after it either: nothing comes, so nothing can be said.
 * - `unneeded`: no check uses it.
 * - `expired`, `not_yet`: outside its window of the configuration.
 * - `unknown`: ingest has never run with this value.
 */
export type SecretState =
  | 'removable'
  | 'in_use'
  | 'only_one'
  | 'waiting'
  | 'unneeded'
  | 'expired'
  | 'not_yet'
  | 'unknown';

export interface SecretReport {
  readonly id: string;
  readonly state: SecretState;
  /** Nothing that a sender signs now would be refused without it. */
  readonly removable: boolean;
  /** ms since the epoch, null where there is none: JSON leaves no field out. */
  readonly knownSince: number | null;
  readonly lastUsedAt: number | null;
  readonly notBefore: number | null;
  readonly notAfter: number | null;
  /** With `removable`: the secrets that were used instead. */
  readonly insteadUsed: readonly string[];
}

/**
 * Says of every secret of a source whether a rotation may end by removing it. `quietMs`: how long it must have been
 * unused, while in each check that may use it some other secret was used after that time. So a source to which nothing
 * comes makes no secret removable, and neither does traffic that another check alone lets in.
 */
export function judgeSecrets(source: Source, use: SourceUse, now: number, quietMs: number): SecretReport[] {
  const usedOf = new Map(source.secrets.map((secret) => [secret.id, use.ofSecret(secret)]));
  return source.secrets.map((secret): SecretReport => {
    const { id, notBefore, notAfter } = secret;
    const { knownSince, lastUsedAt } = usedOf.get(id) ?? {};
    const checks = source.auth.flatMap((check) => {
      if (check.kind === 'queryEquals') return [];
      const ofCheck = secretsOf(source, check);
      const others = ofCheck.filter((each) => each.id !== id && isCurrent(each, now));
      return ofCheck.some((each) => each.id === id) ? [others.map((each) => each.id)] : [];
    });
    const quietSince = lastUsedAt ?? knownSince;
    const wasUsedSince = (other: string): boolean =>
      (usedOf.get(other)?.lastUsedAt ?? 0) >= (quietSince ?? now) + quietMs;
    const insteadUsed = checks.map((others) => others.filter(wasUsedSince));
    const state = ((): SecretState => {
      if (notAfter !== undefined && now >= notAfter) return 'expired';
      if (notBefore !== undefined && now < notBefore) return 'not_yet';
      if (checks.length === 0) return 'unneeded';
      if (checks.some((others) => others.length === 0)) return 'only_one';
      if (quietSince === undefined) return 'unknown';
      if (now - quietSince < quietMs) return 'in_use';
      return insteadUsed.every((used) => used.length > 0) ? 'removable' : 'waiting';
    })();
    return {
      id,
      state,
      removable: state === 'removable' || state === 'unneeded' || state === 'expired',
      knownSince: knownSince ?? null,
      lastUsedAt: lastUsedAt ?? null,
      notBefore: notBefore ?? null,
      notAfter: notAfter ?? null,
      insteadUsed: state === 'removable' ? [...new Set(insteadUsed.flat())] : [],
    };
  });
}
