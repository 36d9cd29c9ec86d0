import { AppError } from '@breakwater/runtime/errors';
import type { Answer, Visit } from './page.ts';
import { link } from './parts.ts';

export type Group = Answer<'listDeadLetterGroups'>['groups'][number];
type Delivery = Answer<'listDeliveries'>['deliveries'][number];

/** What names a group of dead letters in an address: a destination, and a class unless no attempt was made. */
export interface GroupName {
  readonly endpoint?: string | undefined;
  readonly target?: string | undefined;
  readonly class?: string | undefined;
}

export const nameOf = ({ destination: { kind, id, name }, failureClass }: Group): GroupName => ({
  ...(kind === 'erp' ? { target: name } : { endpoint: id }),
  ...(failureClass !== null && { class: failureClass }),
});

export const groupLink = (name: GroupName): string => link('/dead-letters/group', { ...name });

/** The members that are given, as filters of a call. */
export const filterOf = (name: GroupName): Record<string, string> =>
  Object.fromEntries(
    Object.entries(name).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

/** As many as one page of a list has at most: a destination has fewer classes than that. */
const PAGE = 200;

export interface FoundGroup {
  readonly name: GroupName;
  /** Undefined where nothing is in it now. */
  readonly group: Group | undefined;
  /** The newest dead letter in it, where one is found. */
  readonly newest: Delivery | undefined;
}

/** The group that the query or the form of a visit names. Throws AppError request_invalid. */
export async function findGroup(visit: Visit): Promise<FoundGroup> {
  const { endpoint, target, class: failureClass } = { ...visit.query, ...given(visit.form) };
  const to = filterOf({ endpoint, target });
  if (Object.keys(to).length === 0)
    throw new AppError('request_invalid', 'Name the destination of the group: an endpoint or an ERP target.');
  const name: GroupName = { ...to, ...(failureClass !== undefined && { class: failureClass }) };
  const { groups } = await visit.call('listDeadLetterGroups', { query: { ...to, limit: PAGE } });
  const group = groups.find((each) => each.failureClass === (failureClass ?? null));
  if (!group) return { name, group, newest: undefined };
  const { deliveries } = await visit.call('listDeliveries', {
    query: { status: 'dead_letter', ...filterOf(name), limit: failureClass === undefined ? PAGE : 1 },
  });
  return {
    name,
    group,
    newest: deliveries.find((each) => (each.failureClass ?? undefined) === failureClass),
  };
}

const given = (form: Visit['form']): Record<string, string> =>
  Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
