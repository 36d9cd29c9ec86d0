import { afterEach } from '@jest/globals';
import { DEFAULT_SCHEDULE_MS } from '@breakwater/contracts/config';
import { deliveryId, erpDestination, newEndpointId, newId } from '@breakwater/contracts/ids';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis, type Redis } from '../../src/connection.ts';
import { type Rate, writeGate } from '../../src/gates.ts';
import { createKeyspace, type Keyspace } from '../../src/keys.ts';
import type { BreakerPolicy, DestinationPolicy, Policy } from '../../src/policy.ts';
import type { BeginAnswer } from '../../src/begin-answer.ts';
import type { Go } from '../../src/go.ts';
import { type EndAnswer, type EndInput, type PlanEntry, Transitions } from '../../src/transitions.ts';
import { sharedRedisUrl } from '../../../../test/support/redis.ts';

export const silent = createLogger({ service: 'test', level: 'silent' });

/** So early that every alarm may ring at once: the whole schedule is walked through without waiting. */
export const AT_ONCE = { earlyMs: 1e12 };

export const POLICY: Policy = {
  scheduleMs: DEFAULT_SCHEDULE_MS,
  jitterMs: 0,
  leaseMs: 60_000,
  graceMs: 30_000,
  runGraceMs: 0,
  earlyMs: 50,
  freeInterruptions: 3,
  gatePeriodMs: 0, // a sweep looks at every gate at once
  reserveMs: 15_000,
  rearmMs: 60_000,
  armAheadMs: 0,
  settleMs: 0,
  retentionMs: 30 * 86_400_000,
  canFind: false,
  dedupes: false,
  retriesInFlight: 1_000,
  pauseAfterMs: 5 * 86_400_000,
  probeEveryMs: 3_600_000,
  heldForMs: 30 * 86_400_000,
};

export const BREAKER: BreakerPolicy = {
  consecutive: 5,
  window: 20,
  percentage: 50,
  fromMs: 60_000,
  toMs: 200_000,
};

const open: Redis[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((redis) => closeRedis(redis)));
});

/** Walks delivery records through the scripts, as the services do, in a key space of its own. */
export class Store {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly policy: Policy;
  readonly transitions: Transitions;

  constructor(
    policy: Partial<Policy> = {},
    redisUrl = sharedRedisUrl(),
    keys = createKeyspace(`t${newId()}`),
  ) {
    this.redis = connectRedis(redisUrl, 'scripts', silent);
    open.push(this.redis);
    this.keys = keys;
    this.policy = { ...POLICY, ...policy };
    this.transitions = new Transitions(this.redis, this.keys, this.policy);
  }

  /** The same records as seen by a process with another policy, or at another time of it. */
  under(policy: Partial<Policy>): Transitions {
    return new Transitions(this.redis, this.keys, { ...this.policy, ...policy });
  }

  /** Makes an event with these destinations. Resolves to the ids of its deliveries. */
  async event(
    plan: readonly PlanEntry[],
    more: { source?: string; operator?: string; receivedAt?: number } = {},
  ): Promise<string[]> {
    const eventKey = newId();
    const { source = 'shop', operator = 'default', receivedAt } = more;
    await this.transitions.recordEvent({
      eventKey,
      source,
      operator,
      plan,
      fields: { eventId: `id-${eventKey}`, type: 't', ...(receivedAt !== undefined && { receivedAt }) },
      from: 0,
      count: 1_000,
      replan: false,
    });
    return plan.map((entry) => deliveryId(eventKey, entry.d));
  }

  /** One delivery to an endpoint. */
  async delivery(endpoint = newEndpointId()): Promise<string> {
    const [id = ''] = await this.event([{ d: endpoint }]);
    return id;
  }

  async endpoint(cap: number, policy: DestinationPolicy = {}, rate?: Rate): Promise<string> {
    const id = newEndpointId();
    await writeGate(this.redis, this.keys, id, cap, policy, rate);
    return id;
  }

  /** An ERP target that can look up, with a settle time of 0. Resolves to its destination. */
  async erp(cap = 10, policy: DestinationPolicy = {}): Promise<string> {
    const destination = erpDestination(`t-${newId().toLowerCase()}`);
    await writeGate(this.redis, this.keys, destination, cap, { canFind: true, ...policy });
    return destination;
  }

  async field(id: string, name: string): Promise<string | null> {
    return this.redis.hget(this.keys.delivery(id), name);
  }

  async number(id: string, name: string): Promise<number> {
    return Number((await this.field(id, name)) ?? 0);
  }

  async status(id: string): Promise<string | null> {
    return this.field(id, 'status');
  }

  /** The alarm that is valid now. */
  async alarm(id: string): Promise<string> {
    return `${id}-${(await this.field(id, 'seq')) ?? ''}`;
  }

  async begin(id: string, alarmId?: string): Promise<BeginAnswer> {
    return this.transitions.beginAttempt(id, alarmId ?? (await this.alarm(id)), newId());
  }

  /** Begins and expects to be let through. */
  async go(id: string, alarmId?: string): Promise<Go> {
    const answer = await this.begin(id, alarmId);
    if (answer.kind !== 'go') throw new Error(`expected go, got ${JSON.stringify(answer)}`);
    return answer.go;
  }

  async end(go: Go, outcome: EndInput['outcome'], more: Partial<EndInput> = {}): Promise<EndAnswer> {
    const classes: Partial<Record<EndInput['outcome'], string>> = {
      failed: 'http_5xx',
      gone: 'http_gone',
      unknown: 'erp_unknown',
      rejected: 'erp_rejected',
      absent: 'not_found',
    };
    return this.transitions.endAttempt({
      delivery: go.delivery,
      alarmId: go.alarmId,
      attempt: go.attempt,
      outcome,
      class: classes[outcome] ?? outcome,
      code: '',
      handOffToken: '',
      ...more,
    });
  }

  /** Begin and end in one. */
  async attempt(id: string, outcome: EndInput['outcome'], more: Partial<EndInput> = {}): Promise<EndAnswer> {
    return this.end(await this.go(id), outcome, more);
  }

  async replay(id: string, more: Partial<Parameters<Transitions['requestReplay']>[0]> = {}) {
    return this.transitions.requestReplay({
      delivery: id,
      operator: 'default',
      replayId: newId(),
      mode: 'single',
      acknowledged: false,
      reason: 'test',
      actor: 'tester',
      ...more,
    });
  }

  /** Asks for a replay and begins it. */
  async goReplay(id: string, more: Parameters<Store['replay']>[1] = {}): Promise<Go> {
    const answer = await this.replay(id, more);
    if (answer.kind !== 'ok') throw new Error(`expected ok, got ${JSON.stringify(answer)}`);
    return this.go(id, answer.alarm.alarmId);
  }

  async pause(destination: string): Promise<void> {
    await this.transitions.setGate(destination, 'pause', BY);
  }

  async resume(destination: string) {
    return this.transitions.setGate(destination, 'resume', BY);
  }

  /** As if the process of the attempt in flight had died and its lease had run out. */
  async lapse(id: string): Promise<void> {
    const past = (await this.now()) - 1;
    await this.redis.hset(this.keys.delivery(id), 'runUntil', past);
    for (const gate of await this.gatesOf(id))
      await this.redis.zadd(`${this.keys.gate(gate)}:running`, 'XX', past, id);
    const alarms = this.keys.alarms(id.includes('.erp_') ? 'erp' : 'deliveries');
    for (const alarmId of await this.redis.zrange(alarms, 0, '-1'))
      if (alarmId.startsWith(`${id}-`)) await this.redis.zadd(alarms, 'XX', past, alarmId);
  }

  async gatesOf(id: string): Promise<string[]> {
    const keyGate = await this.field(id, 'keyGate');
    return [id.slice(id.indexOf('.') + 1), ...(keyGate === null ? [] : [keyGate])];
  }

  async waiting(gate: string): Promise<string[]> {
    return (await this.redis.zrange(this.keys.waiting(gate), 0, '-1')).map(String);
  }

  async running(gate: string): Promise<string[]> {
    return (await this.redis.zrange(`${this.keys.gate(gate)}:running`, 0, '-1')).map(String);
  }

  async alarms(queue: 'deliveries' | 'erp' = 'deliveries'): Promise<string[]> {
    return (await this.redis.zrange(this.keys.alarms(queue), 0, '-1')).map(String);
  }

  async ledger(): Promise<Record<string, number>> {
    return Object.fromEntries(
      Object.entries(await this.redis.hgetall(this.keys.ledger)).map(([field, value]) => [
        field,
        Number(value),
      ]),
    );
  }

  /** Redis' clock, ms. */
  async now(): Promise<number> {
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }
}

export const BY = { operator: 'default', reason: 'test', actor: 'tester' };
