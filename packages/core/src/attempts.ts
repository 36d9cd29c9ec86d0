import { type AttemptResult, OWN_WORDS, type ResponseSample } from '@breakwater/contracts/attempt-result';
import { destinationLabel, newId, parseDeliveryId } from '@breakwater/contracts/ids';
import type { AlarmClocks } from '@breakwater/queue/alarms';
import type { AlarmAnswer } from '@breakwater/queue/workers';
import { messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import type { Redis } from '@breakwater/store/connection';
import type { BeginAnswer } from '@breakwater/store/begin-answer';
import { writeSample } from '@breakwater/store/deliveries';
import type { EventRecord } from '@breakwater/store/events';
import type { Keyspace } from '@breakwater/store/keys';
import type { Go } from '@breakwater/store/go';
import type { EndInput, Transitions } from '@breakwater/store/transitions';
import { type AttemptClock, startClock } from './attempt-clock.ts';
import { type BodyMemory, createBodyMemory } from './body-memory.ts';
import { type Held, readWithinMemory } from './held-event.ts';
import { createTurns, type Turns } from './turns.ts';

/** Makes one attempt. Expected trouble is a result; a throw is a bug and is recorded as class `internal`. */
export type Performer = (go: Go, event: EventRecord, clock: AttemptClock) => Promise<AttemptResult>;

export interface AttemptDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
  readonly clocks: AlarmClocks;
  readonly perform: Performer;
  readonly logger: Logger;
  /** Called once per attempt, for metrics. */
  readonly onAttempt: (destination: string, outcome: string, durationMs: number) => void;
  /** A delivery was parked that its endpoint's rate lets through so much later. */
  readonly wakeGatesIn: (ms: number) => void;
  /** What is not a first attempt takes turns, so that a flood of it leaves the process to first attempts. One line for a process. */
  readonly turns?: Turns;
  /** What attempts may hold of events at once. One for a process. */
  readonly memory?: BodyMemory;
  /** Aborted when the process stops: no further delivery is taken over in hand. */
  readonly signal: AbortSignal;
}

type ReadyDeps = AttemptDeps & { readonly memory: BodyMemory };

/** A waiter is taken over in hand only after a fast attempt ... */
const HAND_OFF_AFTER_MS = 500;
/** ... and not for longer than this, so that other destinations get the worker's slot back. */
const HAND_OFF_FOR_MS = 10_000;

/**
 * Answers a ringing alarm: asks the record, makes the attempt, records the result, sets the next alarm. The processor
 * never throws for a failed delivery; what it does not finish, the sweeper finds. `behind`: it rang behind first attempts.
 */
export function createAttempts(
  given: AttemptDeps,
): (delivery: string, alarmId: string, behind: boolean) => Promise<AlarmAnswer> {
  const turns = given.turns ?? createTurns();
  const deps = { ...given, memory: given.memory ?? createBodyMemory() };
  return async (delivery, alarmId, behind) => {
    let turn = behind ? await turns.take() : undefined;
    try {
      let clock = startClock();
      const jobClock = clock;
      const begun = await deps.transitions.beginAttempt(delivery, alarmId, newId());
      if (begun.kind !== 'go') return await answerNotBegun(deps, delivery, begun);
      let go: Go | undefined = begun.go;
      while (go) {
        const next = startClock();
        turn?.begun();
        go = await runAttempt(deps, go, clock, jobClock.elapsedMs() < HAND_OFF_FOR_MS);
        turn?.end();
        turn = go && go.attempt > 1 ? await turns.take(true) : undefined;
        clock = next;
      }
      return { kind: 'done' };
    } finally {
      turn?.end();
    }
  };
}

/** What becomes of an alarm that rang and started nothing. */
async function answerNotBegun(
  deps: AttemptDeps,
  delivery: string,
  begun: Exclude<BeginAnswer, { kind: 'go' }>,
): Promise<AlarmAnswer> {
  switch (begun.kind) {
    case 'busy':
    case 'early':
      return { kind: 'later', waitMs: begun.waitMs };
    case 'stale':
      if (begun.arm) await deps.clocks.set([begun.arm]);
      return { kind: 'done' };
    case 'parked':
      if (begun.why === 'rate') deps.wakeGatesIn(begun.lookInMs);
      return { kind: 'done' };
    case 'missing':
      deps.logger.warn({ delivery }, 'an alarm rang for a delivery that does not exist');
      return { kind: 'done' };
  }
}

/** What is kept of an answer. A refusal without one (a mapping, an unknown code) has its reason only in our sentence. */
function sampleFor(result: AttemptResult): ResponseSample | undefined {
  if (result.kind === 'deferred') return undefined;
  if (result.sample) return result.sample;
  if (result.kind !== 'rejected' && result.kind !== 'reference_conflict') return undefined;
  return { contentType: OWN_WORDS, text: result.message.slice(0, 1_000), truncated: false };
}

/** Makes one attempt and records it. Resolves to a waiter that was started in the same step, if one was. */
async function runAttempt(
  deps: ReadyDeps,
  go: Go,
  clock: AttemptClock,
  mayHandOff: boolean,
): Promise<Go | undefined> {
  const { result, durationMs, event } = await perform(deps, go, clock);
  const handOff = mayHandOff && durationMs < HAND_OFF_AFTER_MS && !deps.signal.aborted;
  const end = endOf(result);
  // Neither a sample nor an alarm clock is worth losing a result for: the one is a convenience, the other is found by the sweeper.
  const sample = sampleFor(result);
  if (sample) await tolerate(deps, go, writeSample(deps.redis, deps.keys, go.delivery, go.attempt, sample));
  const answer = await deps.transitions.endAttempt({
    ...end,
    delivery: go.delivery,
    alarmId: go.alarmId,
    attempt: go.attempt,
    handOffToken: handOff ? newId() : '',
  });
  report(deps, go, result, end, { event, durationMs, recorded: answer.kind, status: answer.status });
  reportGate(deps, go, answer.gate);
  await tolerate(deps, go, deps.clocks.set(answer.alarms));
  return answer.handOff;
}

/** What a person may search for. */
const idsOf = (
  { delivery, attempt }: Go,
  event: EventRecord | undefined,
): Record<string, string | number> => ({
  delivery,
  attempt,
  ...(event && { operator: event.operator, source: event.source, eventId: event.eventId }),
});

async function tolerate({ logger }: AttemptDeps, go: Go, work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) =>
    logger.warn({ ...idsOf(go, undefined), reason: messageOf(error) }, 'a step beside an attempt failed'),
  );
}

const NO_MEMORY: AttemptResult = {
  kind: 'deferred',
  message: 'large events are being sent; this one waits',
};

/** There is nothing to send and nothing to look up, now or later: a person's, and no failure of the destination. */
const EVENT_LOST: AttemptResult = {
  kind: 'rejected',
  class: 'mapping',
  code: 'event_lost',
  message:
    'The record of the event is gone, and its body with it, so nothing can be sent. Get the event from its source, settle it by hand, then resolve this delivery.',
};

async function perform(
  deps: ReadyDeps,
  go: Go,
  clock: AttemptClock,
): Promise<{ result: AttemptResult; durationMs: number; event: EventRecord | undefined }> {
  const started = performance.now();
  let result: AttemptResult;
  let held: Held | undefined;
  try {
    held = await readWithinMemory(deps, go, deps.signal);
    if (!held) result = NO_MEMORY;
    else result = held.event ? await deps.perform(go, held.event, clock) : EVENT_LOST;
  } catch (error) {
    deps.logger.error({ err: error, ...idsOf(go, held?.event) }, 'an attempt failed inside Breakwater');
    result = { kind: 'unknown', code: 'internal', message: messageOf(error) };
  } finally {
    held?.release();
  }
  return { result, durationMs: performance.now() - started, event: held?.event };
}

type End = Pick<EndInput, 'outcome' | 'class' | 'code' | 'retryAfterMs' | 'receipt'>;

/** What the record says of a result. Rows hold 64 bytes, so codes are short. */
function endOf(result: AttemptResult): End {
  switch (result.kind) {
    case 'deferred':
      return {
        outcome: 'deferred',
        class: 'deferred',
        code: '',
        ...(result.waitMs !== undefined && { retryAfterMs: result.waitMs }),
      };
    case 'sent':
      return { outcome: 'sent', class: 'sent', code: result.code };
    case 'gone':
      return { outcome: 'gone', class: 'http_gone', code: result.code };
    case 'posted':
    case 'already_posted':
      return { outcome: result.kind, class: result.kind, code: result.code, receipt: result.receipt };
    case 'absent':
      return { outcome: 'absent', class: 'not_found', code: result.code };
    case 'reference_conflict':
      return { outcome: 'reference_conflict', class: 'erp_conflict', code: result.code };
    case 'unknown':
      return {
        outcome: 'unknown',
        class: result.code === 'internal' ? 'internal' : 'erp_unknown',
        code: result.code,
      };
    case 'rejected':
      return { outcome: 'rejected', class: result.class, code: result.code };
    case 'failed':
      return {
        outcome: 'failed',
        class: result.class,
        code: result.code,
        ...(result.retryAfterMs !== undefined && { retryAfterMs: result.retryAfterMs }),
      };
  }
}

/** One log line per attempt, with the facts folded in; payloads never. */
function report(
  deps: AttemptDeps,
  go: Go,
  result: AttemptResult,
  end: End,
  facts: { event: EventRecord | undefined; durationMs: number; recorded: string; status: string },
): void {
  const destination = destinationLabel(parseDeliveryId(go.delivery)?.destination ?? '');
  const line = {
    ...idsOf(go, facts.event),
    trigger: go.trigger,
    destination,
    outcome: end.outcome,
    class: end.class,
    code: end.code,
    status: facts.status,
    durationMs: Math.round(facts.durationMs),
    ...(facts.recorded !== 'done' && { recorded: facts.recorded }),
    // The words of a mapping that fails may quote the event's body; `deliveries show` has them.
    ...('message' in result && end.class !== 'mapping' && { message: result.message }),
  };
  if (end.outcome === 'deferred') {
    if (end.retryAfterMs === undefined) deps.logger.debug(line, 'attempt deferred');
    else deps.logger.error(line, 'nothing can be sent until a person has mended this; no attempt is used up');
    return;
  }
  deps.onAttempt(destination, outcomeLabel(end.outcome), facts.durationMs);
  deps.logger.info(line, 'attempt');
}

/** Nobody asked for it, so it must not go unnoticed. */
function reportGate(
  { logger }: AttemptDeps,
  { delivery }: Go,
  moved: 'paused' | 'resumed' | undefined,
): void {
  const endpoint = parseDeliveryId(delivery)?.destination;
  if (moved === 'paused')
    logger.error(
      { endpoint, delivery },
      'the endpoint is paused: it has failed for too long without one success. Its deliveries are held; `endpoints show` says more',
    );
  if (moved === 'resumed')
    logger.warn({ endpoint, delivery }, 'the endpoint works again: its automatic pause is over');
}

/** The closed set of the metric's outcome label. */
const outcomeLabel = (outcome: EndInput['outcome']): string =>
  outcome === 'sent' || outcome === 'posted' || outcome === 'already_posted' ? 'sent' : 'failed';
