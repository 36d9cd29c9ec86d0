import { isDeepStrictEqual } from 'node:util';
import type { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import { pause } from '@breakwater/runtime/poll';
import type { PostResult } from './adapter.ts';
import { type Answer, type Trouble, asRead, isTrouble } from './tryton-answer.ts';
import type { Codes } from './tryton-codes.ts';
import { acceptsWarning } from './tryton-errors.ts';
import { type Held, type Shipment, readHeld } from './tryton-held.ts';
import { type TrytonReceipt, shipmentValues } from './tryton-receipt.ts';
import type { Rpc, WritingCaller } from './tryton-rpc.ts';

export interface Posting {
  readonly rpc: Rpc;
  readonly codes: Codes;
  readonly config: TrytonAdapter;
  readonly receipt: TrytonReceipt;
  readonly reference: string;
  readonly caller: WritingCaller;
}

/** Looks, then takes the one step that is next. A posting takes 3; more are meetings with another process. */
const MAX_ROUNDS = 8;

/**
 * Posts a receipt: create (a draft, without effect), receive (stock arrives), done (stock is put away). Three
 * transactions, so what is there decides the next step, each time anew:
 *
 *   nothing ----create----> draft ----receive----> received ----done----> done
 *   several of ours, none done: the others are cancelled, then the first goes on
 *
 * Tryton has no unique reference, and a create may reach it twice or late. But only drafts can be doubled: receive and
 * done change nothing when they are repeated, and nobody who finds two drafts of ours completes more than one. What comes
 * after everybody has looked stays a draft.
 */
export async function postReceipt(posting: Posting): Promise<PostResult> {
  const { rpc, reference, receipt, caller } = posting;
  let completed = false;
  let taken: Trouble | undefined;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const held = await readHeld(rpc, reference, receipt, caller);
    if (isTrouble(held)) return afterSteps(asRead(held), completed);
    const [done] = held.done;
    if (done) return await finished(posting, done, held, completed);
    // A unique index of the ERP's own says that the reference is taken, but not by anything that is in force.
    if (taken && held.begun.length === 0 && held.others.length === 0) return resultOf(taken);
    const trouble = await nextStep(posting, held);
    if (trouble === CONFLICT) return { kind: 'reference_conflict', code: '' };
    if (trouble === COMPLETED) completed = true;
    else if (trouble?.kind === 'exists') taken = trouble;
    else if (trouble) return resultOf(trouble);
  }
  return {
    kind: 'unknown',
    code: '',
    message: 'Other processes keep changing the receipts of this reference.',
  };
}

const CONFLICT = Symbol('conflict');
const COMPLETED = Symbol('completed');

async function nextStep(
  posting: Posting,
  held: Held,
): Promise<Trouble | typeof CONFLICT | typeof COMPLETED | undefined> {
  const [first, ...rivals] = held.begun;
  if (!first && held.others.length > 0) return CONFLICT;
  if (!first) return await create(posting);
  for (const rival of rivals) {
    const trouble = await button(posting, 'cancel', rival);
    if (trouble) return trouble;
  }
  if (rivals.length > 0) return undefined; // only what is really cancelled is out of the way
  const trouble =
    (first.state === 'draft' ? await button(posting, 'receive', first) : undefined) ??
    (await button(posting, 'done', first));
  if (!trouble) return COMPLETED;
  return trouble.kind === 'rejected' || trouble.kind === 'failed'
    ? {
        ...trouble,
        message: `${trouble.message} Receipt ${first.receipt} stays without full effect until then.`,
      }
    : trouble;
}

/** One is done. Drafts of ours beside it are what a repeated create left: nobody must complete them by mistake. */
async function finished(
  posting: Posting,
  done: Shipment,
  held: Held,
  completed: boolean,
): Promise<PostResult> {
  for (const stray of held.begun) await button(posting, 'cancel', stray); // best effort: it has no effect as it is
  return { kind: completed ? 'posted' : 'already_posted', receipt: done.receipt, code: '200' };
}

/**
 * Creates the draft. A refusal may come from ids that were remembered and are no more; it rolled everything back, so the
 * codes are read anew, and where they lead elsewhere now it is tried once more.
 */
async function create(posting: Posting): Promise<Trouble | undefined> {
  const { rpc, codes, caller, receipt, reference } = posting;
  const session = await rpc.session(caller);
  if (isTrouble(session)) return session;
  const resolving = { codes, caller, company: session.company, reference };
  const values = await shipmentValues(receipt, resolving);
  if (isTrouble(values)) return asRejectedOrFailed(values);
  const send = (shipment: object): Promise<Answer> =>
    withPatience(posting, () => rpc.write('model.stock.shipment.in.create', () => [[shipment]], caller));
  const answer = await send(values);
  if (answer.kind === 'result') return undefined;
  if (answer.kind !== 'rejected' || !codes.forget()) return answer;
  const fresh = await shipmentValues(receipt, resolving);
  if (isTrouble(fresh)) return asRejectedOrFailed(fresh);
  if (isDeepStrictEqual(fresh, values)) return answer;
  const second = await send(fresh);
  return second.kind === 'result' ? undefined : second;
}

/** Resolving changes nothing, but an unknown code is the document's fault. */
const asRejectedOrFailed = (trouble: Trouble): Trouble =>
  trouble.kind === 'rejected' ? trouble : asRead(trouble);

/** Presses a button of a shipment. Repeated, none of them does anything. */
async function button(
  posting: Posting,
  name: 'receive' | 'done' | 'cancel',
  { id }: Shipment,
): Promise<Trouble | undefined> {
  const { rpc, caller } = posting;
  const answer = await withPatience(posting, () =>
    rpc.write(`model.stock.shipment.in.${name}`, () => [[id]], caller),
  );
  return answer.kind === 'result' ? undefined : answer;
}

/** A step asks as many questions as it has kinds of warnings; this many are a loop. */
const MAX_WARNINGS = 10;
/**
 * Receipts of an average-cost product rewrite one row of it, so of 10 at once 3 or 4 meet. Pauses up to 0.1, 0.2, 0.4,
 * 0.8 and 1.6 s let them pass; whoever still meets somebody then comes back by schedule.
 */
const MAX_COLLISIONS = 5;
const FIRST_PAUSE_MS = 100;

/** Calls again after a collision, which was rolled back, and after a warning that the configuration answers with yes. */
async function withPatience(posting: Posting, call: () => Promise<Answer>): Promise<Answer> {
  const { rpc, config, caller } = posting;
  let collisions = 0;
  let warnings = 0;
  for (;;) {
    const answer = await call();
    if (answer.kind === 'failed' && answer.collision && collisions < MAX_COLLISIONS) {
      const pauseMs = Math.random() * FIRST_PAUSE_MS * 2 ** collisions;
      collisions += 1;
      if (performance.now() + pauseMs >= caller.deadline) return answer;
      await pause(pauseMs);
    } else if (answer.kind === 'warning' && warnings < MAX_WARNINGS && acceptsWarning(answer.name, config)) {
      warnings += 1;
      const { name } = answer;
      const yes = await rpc.write(
        'model.res.user.warning.create',
        ({ uid }) => [[{ user: uid, name, always: false }]],
        caller,
      );
      if (yes.kind !== 'result') return asRead(yes); // the step itself was rolled back with its question
    } else if (answer.kind === 'warning') {
      return warned(answer, config);
    } else return answer;
  }
}

function warned(
  trouble: Extract<Trouble, { kind: 'warning' }>,
  { warnings }: Pick<TrytonAdapter, 'warnings'>,
): Trouble {
  const { code, sample, name } = trouble;
  const key = name.slice(name.lastIndexOf('.') + 1);
  const message = `${trouble.message} The ERP warns (${key}) and waits for a person's yes.`;
  const told = { code, message, ...(sample && { sample }) };
  return warnings.otherwise === 'rejected'
    ? { kind: 'rejected', ...told }
    : { kind: 'failed', class: 'http_4xx', ...told };
}

/** The last look did not answer. What was completed before it is, whatever it would have said. */
function afterSteps(trouble: Trouble, completed: boolean): PostResult {
  if (!completed) return resultOf(trouble);
  const { code, message } = trouble;
  return { kind: 'unknown', code, message: `The receipt was completed, but not seen afterwards. ${message}` };
}

function resultOf(trouble: Trouble): PostResult {
  const { code, message, sample } = trouble;
  const told = { code, ...(sample && { sample }) };
  switch (trouble.kind) {
    case 'rejected':
      return { kind: 'rejected', message, ...told };
    case 'failed': {
      const wait = trouble.retryAfterMs;
      return {
        kind: 'failed',
        class: trouble.class,
        message,
        ...(wait !== undefined && { retryAfterMs: wait }),
        ...told,
      };
    }
    case 'withheld':
      return { kind: 'withheld', code };
    case 'exists': // whatever it is that holds the unique value (a cancelled receipt, say): a person has to look
      return { kind: 'rejected', message, ...told };
    case 'warning':
    case 'unknown':
      return { kind: 'unknown', message: `${message} The ERP may have the document.`, ...told };
  }
}
