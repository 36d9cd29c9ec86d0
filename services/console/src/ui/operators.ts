import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { publishTokensOf } from '@breakwater/contracts/publish-tokens';
import { sourcesOfOperator } from '@breakwater/core/source-report';
import { html, type SafeHtml } from '@remix-run/html-template';
import type { Answer, Visit } from './page.ts';
import { foreign } from './parts.ts';

/** Those that the configuration names, by name. Endpoints and tokens are made for any others. */
export const operatorsOf = (config: BreakwaterConfig): string[] =>
  [
    ...new Set(
      [...Object.values(config.sources), ...publishTokensOf(config)].map(({ operator }) => operator),
    ),
  ].toSorted();

/** Of an operator of whom nothing is known: any name is taken, and a mistyped one would look like a quiet operator. */
export async function unknownOperator(
  { operator, config, call }: Visit,
  { deliveries, sources }: Pick<Answer<'getStats'>, 'deliveries' | 'sources'>,
): Promise<SafeHtml | string> {
  const known =
    sourcesOfOperator(config, operator).length > 0 ||
    Object.values(deliveries).some((count) => count > 0) ||
    sources.some(({ accepted, unrouted }) => accepted + unrouted > 0) ||
    (await call('listEndpoints', { query: { limit: 1 } })).endpoints.length > 0;
  return known
    ? ''
    : html`<p class="remedy">
        Nothing of operator ${foreign(operator)} is known here: it has no source in the configuration, no
        endpoint and no delivery. Is its name right?
      </p>`;
}
