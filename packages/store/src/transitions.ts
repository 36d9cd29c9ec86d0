import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import { invariant } from '@breakwater/runtime/errors';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import type { Policy } from './policy.ts';
import { type Go, readGo, readHandOff } from './go.ts';
import { loadScript } from './script.ts';

/** A job to add: the alarm rings after `waitMs`. Waits, not instants: the clocks of two machines are never compared. */
export interface Alarm {
  readonly alarmId: string;
  readonly waitMs: number;
  /** Of a bulk run: everything else goes first. */
  readonly bulk?: boolean;
}

export type BeginAnswer =
  | { readonly kind: 'go'; readonly go: Go }
  | { readonly kind: 'busy' | 'early'; readonly waitMs: number }
  | { readonly kind: 'stale'; readonly arm: Alarm | undefined }
  | { readonly kind: 'parked'; readonly why: 'cap' | 'paused' | 'breaker' }
  | { readonly kind: 'missing' };

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
  readonly alarms: readonly Alarm[];
}

export type ReplayAnswer =
  | { readonly kind: 'ok'; readonly alarm: Alarm }
  | { readonly kind: RefusedReplay }
  | { readonly kind: 'in_flight'; readonly waitMs: number }
  | { readonly kind: 'already'; readonly replayId: string };

type RefusedReplay = 'not_found' | 'paused' | 'resolved' | 'removed' | 'needs_acknowledgement' | 'expired';

export interface ReplayInput {
  readonly delivery: string;
  readonly operator: string;
  readonly replayId: string;
  readonly mode: 'single' | 'restart';
  readonly acknowledged: boolean;
  readonly reason: string;
  readonly actor: string;
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
  shadowDone: loadScript('shadow-done', { prelude: false }),
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
    const [kind, first, second, wait] = reply;
    switch (String(kind)) {
      case 'go':
        return { kind: 'go', go: readGo(delivery, alarmId, reply) };
      case 'busy':
      case 'early':
        return { kind: kind === 'busy' ? 'busy' : 'early', waitMs: Number(first) };
      case 'stale':
        return {
          kind: 'stale',
          arm: second === '' ? undefined : { alarmId: String(second), waitMs: Number(wait) },
        };
      case 'parked':
        return { kind: 'parked', why: first as 'cap' | 'paused' | 'breaker' };
      default:
        invariant(kind === 'missing', `beginAttempt answered ${String(kind)}`);
        return { kind: 'missing' };
    }
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
    const [kind, status, alarmId, waitMs, handOff, ...queued] = reply;
    const alarms = queued.map((id) => ({ alarmId: String(id), waitMs: 0 }));
    if (alarmId !== '') alarms.push({ alarmId: String(alarmId), waitMs: Number(waitMs) });
    return {
      kind: kind as EndAnswer['kind'],
      status: status as EndAnswer['status'],
      handOff: readHandOff(handOff),
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
    switch (String(kind)) {
      case 'ok':
        return { kind: 'ok', alarm: { alarmId: String(value), waitMs: 0 } };
      case 'in_flight':
        return { kind: 'in_flight', waitMs: Number(value) };
      case 'already':
        return { kind: 'already', replayId: String(value) };
      default:
        return { kind: kind as RefusedReplay };
    }
  }

  /** Closes a dead letter. Resolves to undefined when done, else to why not. */
  async resolve(
    delivery: string,
    operator: string,
    reason: string,
    actor: string,
  ): Promise<'not_found' | 'wrong_status' | undefined> {
    const [kind] = await scripts.resolve.run(
      this.#redis,
      [this.#keys.delivery(delivery)],
      [this.#keys.prefix, delivery, operator, reason, actor],
    );
    return kind === 'ok' ? undefined : (kind as 'not_found' | 'wrong_status');
  }

  async sweepAlarms(queue: 'deliveries' | 'erp', limit: number): Promise<Alarm[]> {
    const reply = await scripts.sweepAlarms.run(
      this.#redis,
      [this.#keys.alarms(queue)],
      [...this.#common(), limit],
    );
    const alarms: Alarm[] = [];
    for (let index = 0; index < reply.length; index += 2)
      alarms.push({ alarmId: String(reply[index]), waitMs: Number(reply[index + 1]) });
    return alarms;
  }

  async sweepGates(limit: number): Promise<Alarm[]> {
    const reply = await scripts.sweepGates.run(this.#redis, [this.#keys.gates], [...this.#common(), limit]);
    return reply.map((id) => ({ alarmId: String(id), waitMs: 0 }));
  }

  async setGate(
    destination: string,
    action: GateAction,
    by: { operator: string; reason: string; actor: string },
  ): Promise<Alarm[]> {
    const reply = await scripts.setGate.run(
      this.#redis,
      [this.#keys.gate(destination)],
      [...this.#common(), destination, action, by.operator, by.reason, by.actor],
    );
    return reply.map((id) => ({ alarmId: String(id), waitMs: 0 }));
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

  /** Dead letters, or deliveries that were, whose shadow job has to be brought into line, with the number of the change. */
  async shadows(limit: number): Promise<{ delivery: string; change: string }[]> {
    const reply = await this.#redis.zrange(this.#keys.shadows, 0, String(limit - 1), 'WITHSCORES');
    const entries = reply.map(String);
    return Array.from({ length: entries.length / 2 }, (_, index) => ({
      delivery: entries[2 * index] ?? '',
      change: entries[2 * index + 1] ?? '',
    }));
  }

  async shadowDone(delivery: string, change: string): Promise<void> {
    await scripts.shadowDone.run(this.#redis, [this.#keys.shadows], [delivery, change]);
  }

  #common(): [string, string] {
    return [this.#keys.prefix, this.#policy];
  }
}
