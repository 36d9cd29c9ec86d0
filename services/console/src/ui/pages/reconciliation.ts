import { FINDING_KINDS } from '@breakwater/contracts/reconciliation';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { formatDuration } from '@breakwater/contracts/duration';
import { html, type SafeHtml } from '@remix-run/html-template';
import { KIND_WORDS, stepWords } from '../finding-words.ts';
import type { Answer, Page, Visit } from '../page.ts';
import { code, facts, foreign, link, path, time, when } from '../parts.ts';
import { tiles } from '../tiles.ts';

type Target = Answer<'getReconciliation'>['targets'][number];
type Finding = Target['findings'][number];

/** Whose findings a token of every operator looks at. */
interface View {
  readonly now: number;
  readonly everybody: boolean;
}

export const reconciliationPages: readonly Page[] = [
  {
    method: 'get',
    path: '/reconciliation',
    async show(visit) {
      const { query, caller, operator, now } = visit;
      const everybody = caller.scope.operator === null && query['of'] !== 'operator';
      const { targets } = await visit.call('getReconciliation', {
        query: { target: query['target'], ...(everybody && { operator: undefined }) },
      });
      const none =
        caller.scope.operator === null
          ? 'No ERP target is configured, or no route leads there.'
          : 'No route leads events of this operator to an ERP.';
      return {
        title: 'Reconciliation',
        main: html`<p>
            Every accepted event against its posting, by the records themselves and not by counters. The
            console does it every few minutes.
          </p>
          ${when(caller.scope.operator === null, whose(visit, everybody))}
          ${
            targets.length === 0
              ? html`<p class="empty">${none}</p>`
              : targets.map((target) => targetPart(target, operator, { now, everybody }))
          }
          <p><small>${REPLAY_NOTICE}</small></p>`,
      };
    },
  },
];

function whose({ query, operator }: Visit, everybody: boolean): SafeHtml {
  const to = (of: string | undefined) => link('/reconciliation', { target: query['target'], of });
  return html`<nav aria-label="Whose findings" class="actions">
    <a class="button" href="${to(undefined)}" ${when(everybody, html`aria-current="true"`)}>Every operator</a>
    <a class="button" href="${to('operator')}" ${when(!everybody, html`aria-current="true"`)}
      >Operator ${operator}</a
    >
  </nav>`;
}

function targetPart(found: Target, operator: string, view: View): SafeHtml {
  const { target, startedAt, counts, findings, complete } = found;
  return html`<section aria-labelledby="of-${target}">
    <h2 id="of-${target}">ERP target ${target}</h2>
    ${staleness(found, view.now)}
    ${
      startedAt === null
        ? ''
        : html`${run(found, view.now)}
          ${tiles(
            `Findings of ${target}`,
            FINDING_KINDS.map((kind) => ({
              label: KIND_WORDS[kind][0],
              value: counts[kind],
              about: KIND_WORDS[kind][1],
              bad: counts[kind] > 0 ? '' : undefined,
            })),
          )}
          ${findings.length > 0 ? findingList(target, findings, view) : nothing(found)}`
    }
    ${when(
      startedAt !== null && (!complete || findings.length < sum(counts)),
      html`<p>
        Not every finding is shown. All of them:
        ${code(
          view.everybody || operator === 'default'
            ? `breakwater reconcile --target ${target}`
            : `breakwater --operator ${operator} reconcile --target ${target}`,
        )}
      </p>`,
    )}
  </section>`;
}

const nothing = ({ stale, counts }: Target): SafeHtml | string =>
  when(
    sum(counts) === 0,
    html`<p class="empty">
      ${stale ? 'Nothing was found then.' : 'Nothing was found: every accepted event has its posting, or is on its way.'}
    </p>`,
  );

/** Old findings are no findings: nobody may take an old "nothing" for a new one. */
function staleness({ startedAt, stale }: Target, now: number): SafeHtml {
  if (startedAt === null)
    return html`<p class="error" role="alert">
      No reconciliation has ended yet. Nothing is known, which is not the same as nothing found.
    </p>`;
  if (!stale) return html``;
  return html`<p class="error" role="alert">
    <strong>Too old to be believed.</strong> The latest reconciliation began
    ${formatDuration(Math.max(0, now - startedAt))} ago and those after it did not end. See the log of the
    console; until then run one by hand.
  </p>`;
}

const run = ({ startedAt, since, until, deepAt, fleet }: Target, now: number): SafeHtml =>
  html`<div class="panel">
    ${facts([
      ['Latest run', time(startedAt, now)],
      ['Events from', time(since, now)],
      ['Events until', time(until, now)],
      [
        "Compared with the ERP's own documents",
        deepAt === null ? 'never: only our records were read' : time(deepAt, now),
      ],
      fleet !== null && ['Looked at', `${fleet.events} events, ${fleet.deliveries} postings owed`],
      fleet !== null && ['On their way', fleet.open],
      fleet !== null && ['Took', formatDuration(fleet.tookMs)],
    ])}
    ${when(
      fleet?.deep.kind === 'skipped',
      html`<p class="remedy">
        The ERP could not be compared in this run, so what it told last stands:
        ${foreign(fleet?.deep.reason ?? '')}
      </p>`,
    )}
  </div>`;

/** Cards and no table: there is much to say of each, and a phone shows one after the other. */
const findingList = (target: string, findings: readonly Finding[], view: View): SafeHtml =>
  html`<ol class="plain" aria-label="Findings of ${target}">
    ${findings.map((finding) => html`<li class="panel">${findingCard(finding, view)}</li>`)}
  </ol>`;

function findingCard(finding: Finding, { now, everybody }: View): SafeHtml {
  const { kind, why, detail, by, next, operator, source, eventId, delivery, status, reference, receipts } =
    finding;
  const of = { operator: everybody ? operator : undefined };
  return html`<p>
      <span class="status" data-status="dead_letter">${KIND_WORDS[kind][0]}</span>
      <small>${foreign(why)}, told by ${by === 'erp' ? 'the ERP' : 'our records'}</small>
    </p>
    <p>${foreign(detail)}</p>
    ${facts([
      source !== undefined &&
        eventId !== undefined && [
          'Event',
          html`<a href="${link(path('events', source, eventId), of)}">${foreign(eventId)}</a>`,
        ],
      source !== undefined && ['Source', code(source)],
      everybody && operator !== undefined && ['Operator', foreign(operator)],
      delivery !== undefined && [
        'Delivery',
        html`<a href="${link(path('deliveries', delivery), of)}">${code(delivery)}</a>
          <small>${foreign(status ?? '')}</small>`,
      ],
      reference !== undefined && ['Reference', code(reference)],
      receipts.length > 0 && ['At the ERP', code(receipts.join(', '))],
      [kind === 'foreign' ? 'Made' : 'Recorded', time(finding.at, now)],
    ])}
    <p class="remedy">
      ${stepWords(why)}<br />${next.includes('breakwater ') ? code(next) : html`<small>${foreign(next)}</small>`}
    </p>`;
}

const sum = (counts: Target['counts']): number => FINDING_KINDS.reduce((all, kind) => all + counts[kind], 0);
