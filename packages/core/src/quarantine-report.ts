import { isUtf8 } from 'node:buffer';
import type { Source } from '@breakwater/contracts/source-config';
import { createRedaction } from '@breakwater/http/redaction';
import { redacted } from '@breakwater/http/sample';
import { type Explanation, explainRequest } from '@breakwater/signatures/explain';
import { secretMask } from '@breakwater/signatures/secret-mask';
import type { QuarantineEntry } from '@breakwater/store/quarantine';
import { requestOf, type RetryResult, retryQuarantined } from './quarantine.ts';
import type { NamedSource } from './source-report.ts';

export interface QuarantineReport {
  /** What a retry would come to, by the sources as they are configured now. */
  readonly now: RetryResult;
  /** Mistakes that would explain a wrong signature. */
  readonly slips: Explanation['slips'];
}

/**
 * Why an entry was refused, and what would come of it today. `others`: sources whose names and secrets may be tried and told of, so of an
 * operator's own.
 */
export async function explainQuarantined(
  entry: QuarantineEntry,
  source: Source,
  others: Readonly<Record<string, Source>>,
): Promise<QuarantineReport> {
  const { slips } = explainRequest(others, entry.source, { source, request: requestOf(entry) });
  return { now: await retryQuarantined(entry, source, undefined), slips };
}

/**
 * The body of an entry without the secrets of these sources and, where it is text, without what looks like a secret or is masked
 * in samples (`patterns`).
 */
export function maskedBody(
  { body }: Pick<QuarantineEntry, 'body'>,
  sources: readonly NamedSource[],
  patterns: readonly string[],
): Buffer {
  const mask = secretMask(sources.map(([, source]) => source));
  const bytes = Buffer.from(mask(body.toString('latin1'), { content: true }), 'latin1');
  return isUtf8(bytes) ? Buffer.from(redacted(bytes.toString('utf8'), [], createRedaction(patterns))) : bytes;
}
