import { destinationName, destinationKind } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import type { Answer, Visit } from './page.ts';
import { path } from './parts.ts';

export type Group = Answer<'listDeadLetterGroups'>['groups'][number];
type Delivery = Answer<'listDeliveries'>['deliveries'][number];

/** What chooses the deliveries of a group: a destination, and a class unless no attempt was made. */
export type GroupName = ({ readonly endpoint: string } | { readonly target: string }) & {
  readonly class?: string;
};

/** The page of a group. */
export const groupPath = ({ destination, failureClass }: Pick<Group, 'destination' | 'failureClass'>) =>
  path('dead-letters', `${destination.id}:${failureClass ?? ''}`);

/** As `groupPath` has it. Throws AppError not_found. */
export function nameOf(text: string): GroupName {
  const colon = text.lastIndexOf(':');
  const destination = text.slice(0, Math.max(0, colon));
  const failureClass = text.slice(colon + 1);
  if (destination === '') throw new AppError('not_found', 'There is no such group of dead letters.');
  const to =
    destinationKind(destination) === 'erp'
      ? { target: destinationName(destination) }
      : { endpoint: destination };
  return failureClass === '' ? to : { ...to, class: failureClass };
}

/** As many as one page of a list has at most: a destination has fewer classes than that. */
const PAGE = 200;

export interface FoundGroup {
  readonly name: GroupName;
  /** Undefined where nothing is in it now. */
  readonly group: Group | undefined;
  /** The newest dead letter in it, where one is found. */
  readonly newest: Delivery | undefined;
}

/** The group that the path of a visit names. Throws AppError not_found where it can be none. */
export async function findGroup(visit: Visit): Promise<FoundGroup> {
  const name = nameOf(visit.params['group'] ?? '');
  const { class: failureClass, ...to } = name;
  const { groups } = await visit.call('listDeadLetterGroups', { query: { ...to, limit: PAGE } });
  const group = groups.find((each) => each.failureClass === (failureClass ?? null));
  if (!group) return { name, group, newest: undefined };
  const { deliveries } = await visit.call('listDeliveries', {
    query: { status: 'dead_letter', ...name, limit: failureClass === undefined ? PAGE : 1 },
  });
  return {
    name,
    group,
    newest: deliveries.find((each) => (each.failureClass ?? undefined) === failureClass),
  };
}
