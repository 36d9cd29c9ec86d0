import { blameFor, type Blame } from '@breakwater/contracts/failure-class';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { html, type SafeHtml } from '@remix-run/html-template';
import { choice, field } from '../forms.ts';
import type { Answer, Page, Sight, Visit } from '../page.ts';
import { code, facts, foreign, link, nextPage, path, table, time, when } from '../parts.ts';
import { refusal as refusalNote, tryForm } from '../refusal.ts';
import { answerSample } from './delivery.ts';
import { destination } from './deliveries.ts';
import { findGroup, type Group, groupPath } from '../groups.ts';

export const deadLetterPages: readonly Page[] = [
  {
    method: 'get',
    path: '/dead-letters',
    show: (visit) =>
      tryForm(
        () => list(visit),
        (refusal) =>
          Promise.resolve({
            title: TITLE,
            main: html`${filters(visit)} ${refusalNote(refusal)}`,
            status: refusal.status,
          }),
      ),
  },
  { method: 'get', path: '/dead-letters/:group', show: (visit) => look(visit) },
];

const TITLE = 'Dead letters';

async function list(visit: Visit): Promise<Sight> {
  const { query } = visit;
  const { groups, nextCursor } = await visit.call('listDeadLetterGroups', { query });
  return {
    title: TITLE,
    main: html`${filters(visit)}
      <p>
        Deliveries that were given up, by destination and cause. They block nothing. Mend the cause, then
        replay the group; what a person settled otherwise is closed on the page of the delivery.
      </p>
      ${when(visit.caller.scope.role !== 'read', html`<p class="remedy">${REPLAY_NOTICE}</p>`)}
      ${groupTable(groups, visit)} ${nextPage('/dead-letters', query, nextCursor)}`,
  };
}

const filters = ({ query, config }: Visit): SafeHtml =>
  html`<form method="get" action="/dead-letters" class="filters panel" role="search">
    ${field({ name: 'endpoint', label: 'Endpoint id', type: 'search', value: query['endpoint'] })}
    ${choice(
      'target',
      'ERP target',
      [['', 'any'], ...Object.keys(config.erpTargets).map((name) => [name, name] as const)],
      query['target'],
    )}
    <div class="actions">
      <button class="primary">Show</button>
      <a class="button" href="/dead-letters">Clear</a>
    </div>
  </form>`;

/** Groups of dead letters, each with what to do about it. */
export const groupTable = (
  groups: readonly Group[],
  { now, caller }: Pick<Visit, 'now' | 'caller'>,
): SafeHtml =>
  table(
    'Dead letters by destination and cause, the largest group first',
    [
      { title: 'Dead', cell: ({ count }) => count, numeric: true },
      {
        title: 'Cause and remedy',
        cell: (group) =>
          html`<a href="${groupPath(group)}">${causeOf(group)}</a>
            <span class="why">${remedyOf(group)}</span>`,
      },
      { title: 'Destination', cell: destination },
      { title: 'Oldest', cell: ({ oldestAt }) => time(oldestAt, now) },
      { title: 'Newest', cell: ({ newestAt }) => time(newestAt, now) },
      {
        title: 'What to do',
        cell: (group) =>
          html`<a class="oneline" href="${deliveriesLink(group)}">Its deliveries</a>
            ${when(caller.scope.role !== 'read', replayLink(group))}`,
      },
    ],
    groups,
    'Nothing is dead here.',
  );

/** To what a replay would do; nothing is sent before it was seen. */
const replayLink = (group: Group): SafeHtml =>
  html`<a class="button oneline" href="${groupPath(group)}/replay"
    >Replay…<span class="unseen"> ${causeOf(group)} at ${foreign(group.destination.name)}</span></a
  >`;

const causeOf = ({ failureClass }: Group): SafeHtml =>
  failureClass === null ? html`no attempt was made` : code(failureClass);
const remedyOf = ({ failureClass, remedy }: Group): string =>
  failureClass === null
    ? 'Given up before any attempt: its endpoint was removed, or it was held too long.'
    : remedy;

const TURN: Readonly<Record<Blame, string>> = {
  us: 'this deployment and its configuration',
  network: 'the network in between',
  subscriber: 'whoever runs the destination',
};

const deliveriesLink = ({ destination: { kind, id, name }, failureClass }: Group): string =>
  link('/deliveries', {
    status: 'dead_letter',
    ...(kind === 'erp' ? { target: name } : { endpoint: id }),
    class: failureClass,
  });

/** One group: what to mend, what the receiver said last, and the way to a replay of all of it. */
async function look(visit: Visit): Promise<Sight> {
  const { group, newest } = await findGroup(visit);
  const title = 'Dead letters of one cause';
  if (!group)
    return {
      title,
      main: html`<p>Nothing of this destination is dead for this cause now.</p>
        <p><a class="button" href="/dead-letters">All dead letters</a></p>`,
    };
  const detail = newest && (await visit.call('getDelivery', { params: { id: newest.id } }));
  return {
    title,
    main: html`${summary(group, visit.now)} ${detail ? newestOf(detail, visit.now) : ''}
    ${when(visit.caller.scope.role !== 'read', replayOffer(group))}`,
  };
}

function summary(group: Group, now: number): SafeHtml {
  const turn = group.failureClass === null ? undefined : blameFor(group.failureClass);
  return html`<section class="panel" aria-label="Group">
    <p class="headline">${group.count} dead · ${causeOf(group)}</p>
    <p class="remedy">${remedyOf(group)}</p>
    ${facts([
      ['Destination', destination(group)],
      turn !== undefined && ['Whose turn it is', TURN[turn]],
      ['Oldest', time(group.oldestAt, now)],
      ['Newest', time(group.newestAt, now)],
    ])}
    <p><a href="${deliveriesLink(group)}">Deliveries of this group</a></p>
  </section>`;
}

function newestOf(delivery: Answer<'getDelivery'>, now: number): SafeHtml {
  const { id, event, statusAt, reason, attempts } = delivery;
  const last = attempts.at(-1);
  return html`<section>
      <h2>The newest of them</h2>
      ${facts([
        ['Delivery', html`<a href="${path('deliveries', id)}">${foreign(event.id)}</a>`],
        ['Given up', time(statusAt, now)],
        ['Because', reason === null ? 'not known' : code(reason)],
        last !== undefined && ['Last attempt', code(`${last.class} ${last.code}`.trim())],
      ])}
    </section>
    ${answerSample(delivery)}`;
}

const replayOffer = (group: Group): SafeHtml =>
  html`<section>
    <h2>Mend the cause, then replay the group</h2>
    <div class="panel">
      <p>${REPLAY_NOTICE}</p>
      <p>First you see what a replay would do. Nothing is sent until you say so.</p>
      <p>
        <a class="button primary" href="${groupPath(group)}/replay">See what a replay would do</a>
      </p>
    </div>
  </section>`;
