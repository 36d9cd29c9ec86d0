import { AppError } from '@breakwater/runtime/errors';
import type { ApiDeps } from '../call.ts';

/**
 * ERP targets are the deployment's; an operator knows those that a route leads its sources to. All of them where `operator` is
 * undefined. Throws AppError not_found where the one that is asked for is not among them.
 */
export function visibleTargets(
  { sources, routes, erpTargets }: ApiDeps['config'],
  operator: string | undefined,
  only: string | undefined,
): string[] {
  const led = routes.filter(({ source }) => sources[source]?.operator === operator);
  const visible =
    operator === undefined ? Object.keys(erpTargets) : [...new Set(led.map(({ target }) => target))];
  if (only === undefined) return visible;
  if (visible.includes(only)) return [only];
  const whose = operator === undefined ? 'is configured' : `belongs to operator ${operator}`;
  throw new AppError('not_found', `No ERP target ${only} ${whose}.`);
}
