import { formatDuration } from '@breakwater/contracts/duration';
import { newId } from '@breakwater/contracts/ids';
import { AppError, type ErrorCode, ERROR_CODES } from '@breakwater/runtime/errors';
import { html, type SafeHtml } from '@remix-run/html-template';
import { csrfField, field } from '../forms.ts';
import { findGroup, type FoundGroup, type GroupName, nameOf } from '../groups.ts';
import type { Answer, Page, Sight, Visit } from '../page.ts';
import { code, facts, foreign, path, table, when } from '../parts.ts';
import { refusal as refusalNote, tryForm } from '../refusal.ts';
import { modeChoice } from './delivery.ts';

const AT = '/dead-letters/:group/replay';
/** As the call has it where none is given: an ERP takes that, and ten thousand are done in 8 minutes. */
const RATE = '20';

/** Replaying a group of dead letters: first what it would do, then how and why, then a run that is started once. */
export const groupReplayPages: readonly Page[] = [
  {
    method: 'get',
    path: AT,
    show: (visit) =>
      tryForm(
        () => ask(visit),
        (refusal) => ask(visit, refusal),
      ),
  },
  {
    method: 'post',
    path: AT,
    show: (visit) =>
      tryForm(
        () => start(visit),
        (refusal) => ask(visit, refusal),
      ),
  },
];

type Started = Answer<'createReplay'>;
type Plan = Extract<Started, { dryRun: true }>;
type Run = Extract<Started, { id: string }>;
const isPlan = (answer: Started): answer is Plan => 'dryRun' in answer;
const isRun = (answer: Started): answer is Run => 'id' in answer;

type Chosen = GroupName & { readonly reasonIs?: string };

/**
 * What chooses the deliveries. Where no attempt was made there is no class to choose by: then it is why they were given up. Undefined
 * where that is not known: the destination alone would choose its other groups too.
 */
function choosing({ name, newest }: FoundGroup): Chosen | undefined {
  if (name.class !== undefined) return name;
  return newest?.reason ? { ...name, reasonIs: newest.reason } : undefined;
}

async function start(visit: Visit): Promise<Sight> {
  const { form } = visit;
  const { reason = '', reasonIs, key } = form;
  const answer = await visit.call('createReplay', {
    body: {
      ...nameOf(groupOf(visit)),
      ...(reasonIs && { reasonIs }),
      reason,
      mode: modeOf(visit),
      ...rateOf('perSecond', form),
    },
    idempotencyKey: key,
  });
  // Where nothing is dead any more there is no run, and the page says so.
  return isRun(answer) ? { goTo: path('replays', answer.id), notice: 'run_started' } : ask(visit);
}

const groupOf = ({ params }: Visit): string => params['group'] ?? '';
const addressOf = (visit: Visit): string => path('dead-letters', groupOf(visit), 'replay');

const modeOf = ({ form }: Visit): 'single' | 'restart' => (form['mode'] === 'restart' ? 'restart' : 'single');

const LABELS = { perSecond: 'Replays a second', reason: 'Reason' };

/** A rate as people write it, `20` or `20/s`. Whether it is one that may be had is for the call to judge. */
function rateOf(name: keyof typeof LABELS, fields: Readonly<Record<string, string>>): Record<string, number> {
  const written = fields[name]?.trim().replace(/ *\/ *s$/, '');
  if (!written) return {};
  const rate = Number(written);
  if (Number.isFinite(rate)) return { [name]: rate };
  throw new AppError('request_invalid', 'The rate is no number.', {
    details: { issues: [{ path: name, message: 'a number such as 20, or 0.5 for one in two seconds' }] },
  });
}

/** What a replay would do now, at the rate asked for, and the form that starts it. */
async function ask(visit: Visit, refusal?: AppError): Promise<Sight> {
  const found = await findGroup(visit);
  const perSecond = (refusal ? undefined : visit.query['perSecond']) ?? RATE;
  const chosen = found.group && choosing(found);
  const plan = chosen && (await planFor(visit, chosen, perSecond));
  return {
    title: 'Replay dead letters of one cause',
    main: html`${refusalNote(refusal, LABELS)}
      ${
        chosen && plan && plan.matched > 0
          ? html`${planOf(visit, plan, perSecond)}
            ${when(plan.deliveries > 0, startForm(visit, { chosen, plan, perSecond, refusal }))}`
          : html`<p>${found.group && !chosen ? NOT_CHOSEN : NOTHING}</p>`
      }
      <p><a class="button" href="${path('dead-letters', groupOf(visit))}">Back to the group</a></p>`,
    ...(refusal && { status: refusal.status }),
  };
}

const NOTHING = 'Nothing of this destination is dead for this cause now, so there is nothing to replay.';
const NOT_CHOSEN =
  'Why these were given up is not found among the newest dead letters of the destination. Replay them on the command line: dead-letters replay --help.';

async function planFor(visit: Visit, chosen: Chosen, perSecond: string): Promise<Plan | undefined> {
  const answer = await visit.call('createReplay', {
    body: {
      ...chosen,
      dryRun: true,
      reason: 'to see what it would do',
      ...rateOf('perSecond', { perSecond }),
    },
  });
  return isPlan(answer) ? answer : undefined;
}

function planOf(visit: Visit, plan: Plan, perSecond: string): SafeHtml {
  const { matched, deliveries, estimateMs } = plan;
  const refused = Object.entries(plan.refused);
  return html`<section>
    <h2>What it would do now</h2>
    <div class="panel">
      <p class="headline">
        ${deliveries} of ${matched} would be
        replayed.${when(deliveries < matched, ` ${matched - deliveries} would be refused.`)}
      </p>
      <p>Nothing is sent yet.</p>
      ${facts([
        ['Destination', code(Object.keys(plan.byDestination).join(', '))],
        ['Cause', causes(plan)],
        ['Asking takes about', `${formatDuration(estimateMs)} at ${perSecond} a second`],
      ])}
      <form method="get" action="${addressOf(visit)}" class="filters">
        <div class="field">
          <label for="estimate">Estimate for another rate, a second</label>
          <input
            id="estimate"
            name="perSecond"
            value="${perSecond}"
            size="6"
            inputmode="decimal"
            autocomplete="off"
          />
        </div>
        <button>Estimate</button>
      </form>
    </div>
    ${when(
      refused.length > 0,
      table(
        'What would be refused, and why',
        [
          { title: 'Refused', cell: ([, count]) => count, numeric: true },
          { title: 'Why', cell: ([why]) => code(why) },
          { title: 'What to do', cell: ([why]) => remedyOf(why) },
        ],
        refused,
        '',
      ),
    )}
  </section>`;
}

const causes = ({ byReason }: Plan): SafeHtml =>
  html`${Object.entries(byReason).map(([why, count]) => html`${count} × ${foreign(why)} `)}`;

const isCode = (name: string): name is ErrorCode => Object.hasOwn(ERROR_CODES, name);
const remedyOf = (why: string): string => (isCode(why) ? ERROR_CODES[why].remedy : '');

const hidden = (fields: Readonly<Record<string, string>>): SafeHtml[] =>
  Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );

interface Offer {
  readonly chosen: Chosen;
  readonly plan: Plan;
  readonly perSecond: string;
  readonly refusal?: AppError | undefined;
}

/**
 * The key makes it one run however often the form is sent. It stays with the form until it has stood for a run: then a form that was
 * changed is meant as another one.
 */
function startForm(visit: Visit, { chosen, plan, perSecond, refusal }: Offer): SafeHtml {
  const { form } = visit;
  const key = refusal?.code === 'idempotency_key_reused' ? undefined : form['key'];
  return html`<section>
    <h2>Start the replay</h2>
    <form method="post" action="${addressOf(visit)}" class="panel">
      ${csrfField(visit)}
      ${hidden({ key: key ?? newId(), ...(chosen.reasonIs && { reasonIs: chosen.reasonIs }) })}
      <p class="remedy">${plan.replayNotice}</p>
      ${field({ name: 'reason', label: 'Reason', required: true, maxLength: 500, value: form['reason'], hint: 'What was mended; it goes into the audit log.' })}
      ${field({ name: 'perSecond', label: 'Replays a second', required: true, value: form['perSecond'] ?? perSecond, hint: 'So many are asked for at most. Fresh events go first at any rate.' })}
      ${modeChoice(modeOf(visit))}
      <p>
        What dies in this group until you start is replayed too. The run stops itself after 50 failures in a
        row, and may be cancelled.
      </p>
      <button class="primary">Replay ${plan.deliveries}</button>
    </form>
  </section>`;
}
