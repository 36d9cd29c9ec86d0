import {
  REPLAY_RUN_STATES,
  type ReplayableStatus,
  type ReplayNote,
  type ReplayRefusal,
  type ReplayRun,
} from '@breakwater/contracts/replay-run';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import type { Policy } from './policy.ts';
import { loadScript } from './script.ts';
import type { Alarm } from './transitions.ts';

const scripts = {
  create: loadScript('create-replay-run', { prelude: true }),
  advance: loadScript('advance-replay-run', { prelude: true, and: ['replay'] }),
  set: loadScript('set-replay-run', { prelude: true }),
};

export interface NewReplayRun {
  readonly id: string;
  readonly operator: string;
  readonly actor: string;
  readonly reason: string;
  /** For people; the deliveries are what counts. */
  readonly filter: string;
  readonly deliveries: readonly string[];
  /** They were read from the records, so one that is gone later was there; false where a person named them. */
  readonly found: boolean;
  /** A delivery that has another status by then is refused; '' where any will do. */
  readonly status: ReplayableStatus | '';
  readonly mode: 'single' | 'restart';
  readonly acknowledged: boolean;
  readonly perSecond: number;
  readonly destinationPerSecond: number | undefined;
  /** Replays without a result yet, at most: what bounds the slots that a run takes from fresh events. */
  readonly mayBeOpen: number;
  /** Failures in a row after which it stops itself; 0 never. */
  readonly stopAfter: number;
}

const CHUNK = 1_000;
/** A list whose maker died before the run was started leaves by itself. */
const UNSTARTED_S = 3_600;

/** Runs of one operator at the same time: each may have `mayBeOpen` attempts in flight, and one lane serves all operators. */
export const RUNS_AT_ONCE = 3;

/** Not done: so many runs of the operator are under way. */
export interface TooManyRuns {
  readonly underWay: readonly string[];
}

/**
 * Writes the list, then starts the run in one step: a maker that dies in between leaves nothing. Resolves to undefined when
 * it is started.
 */
export async function createReplayRun(
  redis: Redis,
  keys: Keyspace,
  run: NewReplayRun,
): Promise<TooManyRuns | undefined> {
  const list = keys.replayRunIds(run.id);
  for (let from = 0; from < run.deliveries.length; from += CHUNK) {
    const replies = await redis
      .multi()
      .rpush(list, ...run.deliveries.slice(from, from + CHUNK))
      .expire(list, UNSTARTED_S)
      .exec();
    const error = replies?.find(([each]) => each)?.[0];
    if (error) throw error;
  }
  const fields = {
    mode: run.mode,
    status: run.status,
    acknowledged: run.acknowledged ? '1' : '0',
    found: run.found ? '1' : '0',
    everyMs: 1_000 / run.perSecond,
    destinationEveryMs: run.destinationPerSecond === undefined ? 0 : 1_000 / run.destinationPerSecond,
    mayBeOpen: run.mayBeOpen,
    stopAfter: run.stopAfter,
  };
  const [kind, ...underWay] = await scripts.create.run(
    redis,
    [keys.replayRun(run.id), list],
    [
      keys.prefix,
      run.id,
      run.operator,
      run.actor,
      run.reason,
      run.filter,
      RUNS_AT_ONCE,
      ...Object.entries(fields).flat(),
    ],
  );
  return kind === 'ok' ? undefined : { underWay: underWay.map(String) };
}

/** Asks for the next replays of a run, at most `limit`. The caller adds the jobs. */
export async function advanceReplayRun(
  redis: Redis,
  keys: Keyspace,
  policy: Policy,
  id: string,
  limit: number,
): Promise<{ state: string; waitMs: number; alarms: Alarm[] }> {
  const [state, waitMs, ...alarms] = await scripts.advance.run(
    redis,
    [keys.replayRun(id), keys.replayRunIds(id)],
    [keys.prefix, JSON.stringify(policy), id, limit, keys.dedupe(''), keys.eventJob('')],
  );
  return {
    state: String(state),
    waitMs: Number(waitMs),
    alarms: alarms.map((alarmId) => ({ alarmId: String(alarmId), waitMs: 0, bulk: true })),
  };
}

/** Runs that may have something to do now. */
export async function dueReplayRuns(redis: Redis, keys: Keyspace, limit: number): Promise<string[]> {
  const [seconds, micros] = await redis.time();
  const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  return (await redis.zrangebyscore(keys.replayActive, '-inf', now, 'LIMIT', 0, limit)).map(String);
}

export interface RunChange {
  readonly id: string;
  readonly operator: string;
  readonly action: 'cancel' | 'resume' | 'fail';
  readonly actor: string;
  /** For the audit log; with `fail` the error that people are shown. */
  readonly reason: string;
}

/** Resolves to undefined when done, else to why not: `not_found`, the state that forbids it, or the runs that are under way. */
export async function changeReplayRun(
  redis: Redis,
  keys: Keyspace,
  change: RunChange,
): Promise<'not_found' | { readonly state: string } | TooManyRuns | undefined> {
  const { id, operator, action, actor, reason } = change;
  const [kind, ...rest] = await scripts.set.run(
    redis,
    [keys.replayRun(id), keys.replayRunIds(id)],
    [keys.prefix, id, operator, action, actor, reason, RUNS_AT_ONCE],
  );
  if (kind === 'ok') return undefined;
  if (kind === 'too_many') return { underWay: rest.map(String) };
  return kind === 'not_found' ? 'not_found' : { state: String(rest[0]) };
}

/** Undefined when it does not exist, or is another operator's. */
export async function readReplayRun(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  id: string,
): Promise<ReplayRun | undefined> {
  // One step, or a run would seem to lose what it asks for in between.
  const replies = await redis.multi().hgetall(keys.replayRun(id)).llen(keys.replayRunIds(id)).exec();
  const [record, remaining] = (replies ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
  const run = toRun(id, (record ?? {}) as Record<string, string>, Number(remaining));
  return run?.operator === operator ? run : undefined;
}

function toRun(id: string, fields: Record<string, string>, remaining: number): ReplayRun | undefined {
  const state = REPLAY_RUN_STATES.find((each) => each === fields['state']);
  if (!state) return undefined;
  const number = (name: string): number => Number(fields[name] ?? 0);
  const refused = Object.entries(fields).filter(([field]) => field.startsWith('refused:'));
  return {
    id,
    operator: fields['operator'] ?? '',
    actor: fields['actor'] ?? '',
    reason: fields['reason'] ?? '',
    filter: fields['filter'] ?? '',
    mode: fields['mode'] === 'restart' ? 'restart' : 'single',
    state,
    error: fields['error'] ?? '',
    perSecond: rateOf(number('everyMs')),
    destinationPerSecond: number('destinationEveryMs') === 0 ? null : rateOf(number('destinationEveryMs')),
    matched: number('matched'),
    remaining,
    requested: number('requested'),
    sent: number('sent'),
    failed: number('failed'),
    open: number('requested') - number('sent') - number('failed'),
    refused: Object.fromEntries(
      refused.map(([field, value]) => [field.slice('refused:'.length) as ReplayRefusal, Number(value)]),
    ),
    createdAt: number('createdAt'),
    updatedAt: number('updatedAt'),
  };
}

const rateOf = (everyMs: number): number => Math.round(1e6 / everyMs) / 1_000;

/** Runs of an operator, newest first. Those that have left are forgotten here. */
export async function listReplayRuns(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  offset: number,
  limit: number,
): Promise<ReplayRun[]> {
  const index = keys.replayRuns(operator);
  const ids = (await redis.zrevrange(index, offset, offset + limit - 1)).map(String);
  const runs = await Promise.all(ids.map((id) => readReplayRun(redis, keys, operator, id)));
  const gone = ids.filter((_, place) => runs[place] === undefined);
  if (gone.length > 0) await redis.zrem(index, ...gone);
  return runs.filter((run) => run !== undefined);
}

/** The first refusals and failures of a run, at most 200. */
export async function readReplayNotes(redis: Redis, keys: Keyspace, id: string): Promise<ReplayNote[]> {
  const notes = await redis.lrange(keys.replayRunNotes(id), 0, -1);
  return notes.map((note) => {
    const [kind, why = '', delivery = ''] = note.split('|');
    return { kind: kind === 'failed' ? 'failed' : 'refused', why, delivery };
  });
}
