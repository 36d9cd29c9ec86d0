import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { publishTokensOf } from '@breakwater/contracts/publish-tokens';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { typeMatches } from '@breakwater/contracts/type-pattern';

/** Whose events may be at a target: what a document's reference may stand for. */
export interface ReconcileScope {
  /** Sources that routes bring here, each with an operator of its events. */
  readonly routed: readonly SourceOfEvents[];
  /** All others: a route may have brought theirs here once. */
  readonly others: readonly SourceOfEvents[];
  readonly operators: readonly string[];
  readonly isRouted: (source: string, type: string) => boolean;
}

export interface SourceOfEvents {
  readonly operator: string;
  readonly source: string;
}

/** Reads from the configuration whose events may be at a target. */
export function scopeOf(config: BreakwaterConfig, target: string): ReconcileScope {
  const routes = config.routes.filter((route) => route.target === target);
  const publishers = new Set(['default', ...publishTokensOf(config).map(({ operator }) => operator)]);
  const sources: SourceOfEvents[] = [
    ...Object.entries(config.sources).map(([source, { operator }]) => ({ operator, source })),
    ...[...publishers].map((operator) => ({ operator, source: RESERVED_SOURCE })),
  ];
  const here = new Set(routes.map(({ source }) => source));
  return {
    routed: sources.filter(({ source }) => here.has(source)),
    others: sources.filter(({ source }) => !here.has(source)),
    operators: [...new Set(sources.map(({ operator }) => operator))],
    isRouted: (source, type) =>
      routes.some((route) => route.source === source && route.types.some((each) => typeMatches(each, type))),
  };
}
