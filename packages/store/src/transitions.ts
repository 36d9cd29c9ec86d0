import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import { isBulkAlarm } from '@breakwater/contracts/ids';
import type { Redis } from 'ioredis';
import type { GateBy } from './gates.ts';
import type { Keyspace } from './keys.ts';
import type { Policy } from './policy.ts';
import { type BeginAnswer, readBegin } from './begin-answer.ts';
import { type Go, readHandOff } from './go.ts';
import { type ReplayAnswer, type ReplayInput, readReplay } from './replay-answer.ts';
import { loadScript, type ScriptReply } from './script.ts';

/** A job to add: the alarm rings after `waitMs`. Waits, not instants: the clocks of two machines are never compared. */
export interface Alarm {
  readonly alarmId: string;
  readonly waitMs: number;
  /** It rings behind those that were never tried. Every alarm with a wait does. */
  readonly behind?: boolean;
  /** Of a bulk run: everything else goes first. Left out, its name decides. */
  readonly bulk?: boolean;
}

export interface EndInput {
  readonly delivery: string;
  readonly alarmId: string;
  readonly attempt: number;
  readonly outcome:
    | 'sent'
    | 'gone'
    | 'failed'
    | 'posted'
    | 'already_posted'
    | 'rejected'
    | 'unknown'
    | 'reference_conflict'
    | 'absent'
    | 'deferred';
  readonly class: string;
  readonly code: string;
  readonly retryAfterMs?: number;
  readonly receipt?: string;
  /** Fresh token when a waiter may be started in the same step; '' when not. */
  readonly handOffToken: string;
}

export interface EndAnswer {
  /** `late`: the attempt had been declared interrupted; `missing`: the record is gone. */
  readonly kind: 'done' | 'late' | 'missing';
  readonly status: DeliveryStatus | '';
  readonly handOff: Go | undefined;
  /** What this result did to its endpoint: the last of too many failures, or the success that ended such a pause. */
  readonly gate: 'paused' | 'resumed' | undefined;
  readonly alarms: readonly Alarm[];
}

export type GateAction = 'pause' | 'resume' | 'breaker-open' | 'breaker-close';

/** One entry of an event's plan: destination, gate of its serial key, reference where it is not the event id. */
export interface PlanEntry {
  readonly d: string;
  readonly k?: string;
  readonly r?: string;
}

export interface RecordInput {
  readonly eventKey: string;
  readonly source: string;
  readonly operator: string;
  readonly plan: readonly PlanEntry[];
  /** Fields of the event record beside source, operator and plan. */
  readonly fields: Readonly<Record<string, string | number>>;
  readonly from: number;
  readonly count: number;
  /** Fan out an event that had no destination when it was recorded. */
  readonly replan: boolean;
}

const scripts = {
  recordEvent: loadScript('record-event', { prelude: true }),
  beginAttempt: loadScript('begin-attempt', { prelude: true }),
  endAttempt: loadScript('end-attempt', { prelude: true }),
  requestReplay: loadScript('request-replay', { prelude: true, and: ['replay'] }),
  resolve: loadScript('resolve', { prelude: true }),
  sweepAlarms: loadScript('sweep-alarms', { prelude: true }),
  sweepGates: loadScript('sweep-gates', { prelude: true }),
  setGate: loadScript('set-gate', { prelude: true }),
  buryRemoved: loadScript('bury-removed', { prelude: true }),
  armAgain: loadScript('arm-again', { prelude: true }),
};

/**
 * An alarm whose slots are reserved. It goes at once, also where it is of a bulk run: behind a long line of retries it would keep
 * the slots from first attempts, and use them for nothing until the reservation is over.
 */
const released = (reply: ScriptReply): Alarm => {
  const alarmId = String(reply);
  return { alarmId, waitMs: 0, ...(isBulkAlarm(alarmId) && { bulk: false }) };
};

/** Typed calls of the scripts that move delivery records. Every method may be repeated: a resent command changes nothing. */
export class Transitions {
  readonly #redis: Redis;
  readonly #keys: Keyspace;
  readonly #policy: string;

  constructor(redis: Redis, keys: Keyspace, policy: Policy) {
    this.#redis = redis;
    this.#keys = keys;
    this.#policy = JSON.stringify(policy);
  }

  async recordEvent(input: RecordInput): Promise<{ total: number; alarms: Alarm[] }> {
    const [total, ...ids] = await scripts.recordEvent.run(
      this.#redis,
      [this.#keys.event(input.eventKey)],
      [
        ...this.#common(),
        input.eventKey,
        input.from,
        input.count,
        JSON.stringify(input.plan),
        input.replan ? '1' : '0',
        input.source,
        input.operator,
        ...Object.entries(input.fields).flat(),
      ],
    );
    return { total: Number(total), alarms: ids.map((id) => ({ alarmId: String(id), waitMs: 0 })) };
  }

  /** `token` is fresh for each call of the worker; ioredis repeats it when it resends. */
  async beginAttempt(delivery: string, alarmId: string, token: string): Promise<BeginAnswer> {
    const reply = await scripts.beginAttempt.run(
      this.#redis,
      [this.#keys.delivery(delivery)],
      [...this.#common(), delivery, alarmId, token],
    );
    return readBegin(delivery, alarmId, reply);
  }

  async endAttempt(input: EndInput): Promise<EndAnswer> {
    const reply = await scripts.endAttempt.run(
      this.#redis,
      [this.#keys.delivery(input.delivery)],
      [
        ...this.#common(),
        input.delivery,
        input.alarmId,
        input.attempt,
        input.outcome,
        input.class,
        input.code,
        input.retryAfterMs ?? '',
        input.handOffToken,
        input.receipt ?? '',
      ],
    );
    const [kind, status, alarmId, waitMs, handOff, gate, ...queued] = reply;
    const alarms: Alarm[] = queued.map(released);
    if (alarmId !== '') alarms.push({ alarmId: String(alarmId), waitMs: Number(waitMs) });
    return {
      kind: kind as EndAnswer['kind'],
      status: status as EndAnswer['status'],
      handOff: readHandOff(handOff),
      gate: gate === 'paused' || gate === 'resumed' ? gate : undefined,
      alarms,
    };
  }

  async requestReplay(input: ReplayInput): Promise<ReplayAnswer> {
    const [kind, value] = await scripts.requestReplay.run(
      this.#redis,
      [this.#keys.delivery(input.delivery)],
      [
        ...this.#common(),
        input.delivery,
        input.operator,
        input.replayId,
        input.mode,
        input.acknowledged ? '1' : '0',
        input.reason,
        input.actor,
      ],
    );
    return readReplay(kind, value);
  }

  /** Closes a dead letter; `posted`: the ERP holds its document. Resolves to undefined when done, else to why not. */
  async resolve(
    delivery: string,
    operator: string,
    reason: string,
    actor: string,
    posted = false,
  ): Promise<'not_found' | 'wrong_status' | undefined> {
    const [kind] = await scripts.resolve.run(
      this.#redis,
      [this.#keys.delivery(delivery)],
      [this.#keys.prefix, delivery, operator, reason, actor, posted ? '1' : '0'],
    );
    return kind === 'ok' ? undefined : (kind as 'not_found' | 'wrong_status');
  }

  async sweepAlarms(queue: 'deliveries' | 'erp', limit: number): Promise<Alarm[]> {
    const reply = await scripts.sweepAlarms.run(
      this.#redis,
      [this.#keys.alarms(queue)],
      [...this.#common(), limit, this.#keys.alarmJob(queue, '')],
    );
    const alarms: Alarm[] = [];
    for (let index = 0; index < reply.length; index += 3) {
      const behind = reply[index + 2] === 1;
      alarms.push({
        alarmId: String(reply[index]),
        waitMs: Number(reply[index + 1]),
        ...(behind && { behind }),
      });
    }
    return alarms;
  }

  /** `nextInMs`: when the next gate is due; undefined while nobody waits at any. */
  async sweepGates(limit: number): Promise<{ alarms: Alarm[]; nextInMs: number | undefined }> {
    const [next, ...ids] = await scripts.sweepGates.run(
      this.#redis,
      [this.#keys.gates],
      [...this.#common(), limit],
    );
    return {
      alarms: ids.map(released),
      nextInMs: next === '' ? undefined : Number(next),
    };
  }

  async setGate(destination: string, action: GateAction, by: GateBy): Promise<Alarm[]> {
    return (await this.#moveGate(destination, action, by)).alarms;
  }

  /** A success that was seen outside of any delivery. Ends a pause that no person asked for; `resumed` says whether it did. */
  async noteRecovery(destination: string, by: GateBy): Promise<{ resumed: boolean; alarms: Alarm[] }> {
    const { changed, alarms } = await this.#moveGate(destination, 'recovered', by);
    return { resumed: changed, alarms };
  }

  async #moveGate(
    destination: string,
    action: GateAction | 'recovered',
    by: GateBy,
  ): Promise<{ changed: boolean; alarms: Alarm[] }> {
    const [changed, ...ids] = await scripts.setGate.run(
      this.#redis,
      [this.#keys.gate(destination)],
      [...this.#common(), destination, action, by.operator, by.reason, by.actor],
    );
    return { changed: changed === 1, alarms: ids.map(released) };
  }

  /** Dead-letters the open ones of these deliveries to a removed endpoint. Resolves to how many. */
  async buryRemoved(endpoint: string, deliveries: readonly string[]): Promise<number> {
    const [buried] = await scripts.buryRemoved.run(
      this.#redis,
      [this.#keys.gate(endpoint)],
      [this.#keys.prefix, ...deliveries],
    );
    return Number(buried);
  }

  /** Arms a delivery that nobody would come back to; the sweeper adds its job. Resolves to whether it was one. */
  async armAgain(delivery: string): Promise<boolean> {
    const [armed] = await scripts.armAgain.run(
      this.#redis,
      [this.#keys.delivery(delivery)],
      [...this.#common(), delivery],
    );
    return armed === 1;
  }

  #common(): [string, string] {
    return [this.#keys.prefix, this.#policy];
  }
}
