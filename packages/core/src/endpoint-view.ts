import type { EndpointRecord } from '@breakwater/store/endpoints';
import type { RecentAnswers } from '@breakwater/store/recent-answers';
import { keyOfSealed } from '@breakwater/store/secret-box';

/** What stands for a header's value wherever endpoints are shown: it may be a credential. */
export const HIDDEN = '[hidden]';

/** An endpoint as it is shown to people and in the audit log: everything but its secrets and the values of its headers. */
export function withoutSecrets(endpoint: EndpointRecord) {
  const { secrets, headers, ...shown } = endpoint;
  return {
    ...shown,
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN])),
    /** When each stops signing (null: the current one), and the id of the encryption key that it is stored under. */
    secrets: secrets.map(({ sealed, createdAt, expiresAt }) => ({
      createdAt,
      expiresAt,
      sealedWith: keyOfSealed(sealed),
    })),
  };
}
export type EndpointView = ReturnType<typeof withoutSecrets>;

/** Rounded down, so that one failure among very many attempts still shows. */
export const percentOf = (rate: number): string => `${Math.floor(rate * 1_000) / 10}%`;

/** What an endpoint answered of late, in words. */
export const recentInWords = ({ attempts, sent, successRate }: RecentAnswers): string =>
  successRate === null
    ? 'no attempts'
    : `${sent} of ${attempts} attempts succeeded (${percentOf(successRate)})`;

/** The audit log's `before` and `after`: only what differs. Changed header values are named, since both show as hidden. */
export function auditOfChange(before: EndpointRecord, after: EndpointRecord): Record<string, string> {
  const [was, is] = [withoutSecrets(before), withoutSecrets(after)].map(
    ({ updatedAt: _updatedAt, ...fields }) => new Map(Object.entries(fields)),
  );
  const names = [...new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])])].filter(
    (name) => JSON.stringify(was?.get(name)) !== JSON.stringify(is?.get(name)),
  );
  const pick = (fields: ReadonlyMap<string, unknown> | undefined): string =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, fields?.get(name)])));
  const headers = changedHeaders(before, after);
  return {
    before: pick(was),
    after: pick(is),
    ...(headers.length > 0 && { headersChanged: headers.join(',') }),
  };
}

export const differs = (before: EndpointRecord, after: EndpointRecord): boolean =>
  JSON.stringify(before) !== JSON.stringify({ ...before, ...after });

/** Sealing the same value twice gives two texts, so a header that was not touched keeps its own. */
const changedHeaders = (before: EndpointRecord, after: EndpointRecord): string[] =>
  [...new Set([...Object.keys(before.headers), ...Object.keys(after.headers)])].filter(
    (name) => before.headers[name] !== after.headers[name],
  );
