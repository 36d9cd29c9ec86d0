import { deliveryId, hashId } from '@breakwater/contracts/ids';
import { writeGate } from '../../src/gates.ts';
import { sweepRetention } from '../../src/retention.ts';
import type { Go } from '../../src/go.ts';
import type { EndInput } from '../../src/transitions.ts';
import { Random } from './random.ts';
import {
  type Destination,
  DESTINATIONS,
  destinationOf,
  ENDPOINT_OUTCOMES,
  ERP_OUTCOMES,
  LOOK_UP_OUTCOMES,
  type Operation,
  OPERATIONS,
  type Outcome,
  POLICY,
  queueOf,
} from './rules.ts';
import { advance, change, tryRun } from './runs.ts';
import { BREAKER, BY, Store } from './store.ts';

/** Retention takes no more: the game goes on with those. */
const DELIVERIES_LEFT = 20;

/** Workers, their jobs, and people, all behaving as badly as they may. */
export class World {
  readonly store: Store;
  readonly random: Random;
  readonly ids: string[] = [];
  /** Jobs that BullMQ holds. */
  readonly jobs = new Set<string>();
  readonly flying: Go[] = [];
  /** Attempts whose process was taken for dead and may still report. */
  readonly zombies: Go[] = [];
  /** Creating answers per delivery, one per attempt, and whether a find was first. */
  readonly created = new Map<string, Set<number>>();
  readonly found = new Set<string>();
  /** The last record of deliveries whose retention is over. */
  readonly left = new Map<string, Readonly<Record<string, string>>>();
  /** Bulk replays. */
  readonly runs: string[] = [];
  deferred = 0;
  readonly #seed: number;
  #lastBegin: { id: string; alarmId: string; token: string } | undefined;
  #lastEnd: EndInput | undefined;
  #tokens = 0;

  constructor(seed: number, redisUrl: string) {
    this.store = new Store(POLICY, redisUrl);
    this.#seed = seed;
    this.random = new Random(seed);
  }

  async open(deliveries: number): Promise<void> {
    const { redis, keys } = this.store;
    const breaker = { ...BREAKER, consecutive: 4, window: 8 };
    await writeGate(redis, keys, 'ep_narrow', 1, {});
    await writeGate(redis, keys, 'ep_wide', 3, {});
    await writeGate(redis, keys, 'ep_leaving', 2, {});
    await writeGate(redis, keys, 'erp_looks', 2, { canFind: true, breaker });
    await writeGate(redis, keys, 'erp_blind', 2, { breaker });
    const names = Object.keys(DESTINATIONS) as Destination[];
    for (let index = 0; index < deliveries; index += 1) {
      const destination = names[index % names.length] ?? 'ep_wide';
      this.ids.push(deliveryId(hashId('model', String(this.#seed), String(index)), destination));
    }
    for (const id of this.ids) await this.#fanOut(id);
  }

  async step(): Promise<Operation> {
    const operation = this.random.weighted<Operation>(OPERATIONS);
    await this[operation]();
    return operation;
  }

  async ring(): Promise<void> {
    const old = this.random.pick(this.ids) ?? '';
    const alarmId = this.random.chance(0.1)
      ? `${old}-${1 + Math.floor(this.random.next() * 12)}`
      : this.random.pick([...this.jobs]);
    if (alarmId === undefined) return this.random.chance(0.5) ? this.sweepAlarms() : this.sweepGates();
    await this.begin(alarmId);
  }

  async begin(alarmId: string): Promise<void> {
    const id = alarmId.slice(0, alarmId.lastIndexOf('-'));
    this.jobs.delete(alarmId);
    const token = this.#token();
    this.#lastBegin = { id, alarmId, token };
    const before = await this.facts(id);
    const answer = await this.store.transitions.beginAttempt(id, alarmId, token);
    if (answer.kind === 'go') this.#begun(answer.go, before);
    else if (answer.kind === 'busy' || answer.kind === 'early') this.jobs.add(alarmId);
    else if (answer.kind === 'stale' && answer.arm) this.#add([answer.arm]);
  }

  async end(): Promise<void> {
    const go = this.random.pick(this.flying);
    if (!go) return this.ring();
    await this.finish(go, this.#outcome(go), this.random.chance(0.5), 0.15);
  }

  /** `loss`: probability that the process dies before it acts on the answer. */
  async finish(go: Go, outcome: Outcome, handOff: boolean, loss: number): Promise<void> {
    const input: EndInput = {
      delivery: go.delivery,
      alarmId: go.alarmId,
      attempt: go.attempt,
      outcome,
      code: '',
      class: outcome === 'failed' && this.random.chance(0.3) ? 'timeout_response' : outcome,
      handOffToken: handOff ? this.#token() : '',
    };
    this.#lastEnd = input;
    if (this.flying.includes(go)) this.flying.splice(this.flying.indexOf(go), 1);
    if (!this.left.has(go.delivery)) this.#note(go, outcome);
    // A begin that was sent again after its lease was over may have been closed as interrupted meanwhile.
    const runs = (await this.store.number(go.delivery, 'run')) === go.attempt;
    const answer = await this.store.transitions.endAttempt(input);
    if (runs && answer.kind === 'done' && outcome === 'deferred') this.deferred += 1;
    const handed = answer.handOff;
    if (this.random.chance(loss)) {
      if (handed) {
        this.zombies.push(handed);
        await this.store.lapse(handed.delivery);
      }
      return;
    }
    if (handed) this.#begun(handed, undefined);
    this.#add(answer.alarms);
  }

  async die(): Promise<void> {
    const go = this.random.pick(this.flying);
    if (!go) return this.ring();
    this.flying.splice(this.flying.indexOf(go), 1);
    if (this.random.chance(0.5)) this.zombies.push(go);
    await this.store.lapse(go.delivery);
  }

  async lateEnd(): Promise<void> {
    const go = this.random.pick(this.zombies);
    if (!go) return this.ring();
    this.zombies.splice(this.zombies.indexOf(go), 1);
    const outcome = this.#outcome(go);
    if (outcome !== 'deferred') await this.finish(go, outcome, false, 0);
  }

  async resendBegin(): Promise<void> {
    const last = this.#lastBegin;
    if (!last) return;
    const known = [...this.flying, ...this.zombies];
    const answer = await this.store.transitions.beginAttempt(last.id, last.alarmId, last.token);
    if (
      answer.kind === 'go' &&
      !known.some((go) => go.delivery === last.id && go.attempt === answer.go.attempt)
    )
      this.flying.push(answer.go);
  }

  async resendEnd(): Promise<void> {
    if (this.#lastEnd) this.#add((await this.store.transitions.endAttempt(this.#lastEnd)).alarms);
  }

  async replay(): Promise<void> {
    const id = this.random.pick(this.ids) ?? '';
    const mode = this.random.chance(0.8) ? 'restart' : 'single'; // a restart brings the dead back into the game
    const answer = await this.store.replay(id, {
      mode,
      acknowledged: this.random.chance(0.8),
      replayId: this.#token(),
    });
    if (answer.kind === 'ok') this.#add([answer.alarm]);
  }

  async pause(): Promise<void> {
    await this.store.pause(this.random.pick(Object.keys(DESTINATIONS)) ?? '');
  }

  async resume(): Promise<void> {
    this.#add(await this.store.resume(this.random.pick(Object.keys(DESTINATIONS)) ?? ''));
  }

  async resolve(): Promise<void> {
    const id = this.random.pick(this.ids) ?? '';
    const posted = this.random.chance(0.5);
    const refused = await this.store.transitions.resolve(id, 'default', 'test', 'tester', posted);
    if (refused === undefined && posted && queueOf(id) === 'erp') this.found.add(id);
  }

  async sweepAlarms(): Promise<void> {
    this.#add([
      ...(await this.store.transitions.sweepAlarms('deliveries', 20)),
      ...(await this.store.transitions.sweepAlarms('erp', 20)),
    ]);
  }

  async sweepGates(): Promise<void> {
    this.#add((await this.store.transitions.sweepGates(20)).alarms);
  }

  async reservationsExpire(): Promise<void> {
    for (const gate of [...Object.keys(DESTINATIONS), 'erp_looks/x', 'erp_looks/y', 'retries']) {
      for (const id of await this.store.running(gate)) {
        if ((await this.store.number(id, 'run')) === 0)
          await this.store.redis.zadd(`${this.store.keys.gate(gate)}:running`, 'XX', 1, id);
      }
    }
  }

  async backoffIsOver(): Promise<void> {
    const { redis, keys } = this.store;
    for (const gate of ['erp_looks', 'erp_blind']) {
      if ((await redis.hexists(keys.gate(gate), 'openUntil')) === 1)
        await redis.hset(keys.gate(gate), 'openUntil', 1);
      await redis.zadd(keys.gates, 'XX', 1, gate);
    }
  }

  /** Every alarm may be looked at: leases and waits that nobody shortens are over at some time. */
  async timePasses(): Promise<void> {
    const { redis, keys } = this.store;
    for (const queue of ['deliveries', 'erp'] as const) {
      for (const alarmId of await this.store.alarms(queue))
        await redis.zadd(keys.alarms(queue), 'XX', 1, alarmId);
    }
  }

  async breakerByHand(): Promise<void> {
    const gate = this.random.pick(['erp_looks', 'erp_blind']) ?? '';
    this.#add(
      await this.store.transitions.setGate(
        gate,
        this.random.chance(0.2) ? 'breaker-open' : 'breaker-close',
        BY,
      ),
    );
  }

  async repeatFanOut(): Promise<void> {
    await this.#fanOut(this.random.pick(this.ids) ?? '');
  }

  async startRun(): Promise<void> {
    const status = this.random.pick(['dead_letter', 'failed', 'sent'] as const) ?? 'sent';
    const id = hashId('run', String(this.#seed), String(this.runs.length)); // a random one would decide who waits first
    const refused = await tryRun(this.store, this.ids, {
      id,
      status: this.random.chance(0.5) ? status : '',
      mode: this.random.chance(0.5) ? 'single' : 'restart',
      acknowledged: this.random.chance(0.5),
      mayBeOpen: 6,
      stopAfter: this.random.chance(0.5) ? 3 : 0,
    });
    if (!refused) this.runs.push(id);
  }

  async advanceRun(): Promise<void> {
    const run = this.random.pick(this.runs);
    if (run !== undefined) this.#add((await advance(this.store, run, 5)).alarms);
  }

  async changeRun(): Promise<void> {
    const run = this.random.pick(this.runs);
    if (run !== undefined) await change(this.store, run, this.random.chance(0.3) ? 'cancel' : 'resume');
  }

  /** As remove-endpoint.lua marks it; then some of its deliveries are reached, and the process dies. */
  async remove(): Promise<void> {
    const { redis, keys, transitions } = this.store;
    await redis.hset(keys.gate('ep_leaving'), 'removed', '1');
    await redis.hdel(keys.gate('ep_leaving'), 'paused');
    const theirs = this.ids.filter((id) => destinationOf(id) === 'ep_leaving');
    await transitions.buryRemoved(
      'ep_leaving',
      theirs.filter(() => this.random.chance(0.4)),
    );
  }

  /** An event grows old. It leaves where it has ended; nothing else changes. */
  async retention(): Promise<void> {
    const { redis, keys } = this.store;
    if (this.ids.length <= DELIVERIES_LEFT) return;
    const id = this.random.pick(this.ids) ?? '';
    const event = id.slice(0, id.indexOf('.'));
    const record = await redis.hgetall(keys.delivery(id));
    await redis.zadd(keys.retention, 'XX', 1, event);
    await sweepRetention(redis, keys, 0);
    await redis.zadd(keys.retention, 'XX', 1e15, event); // else it would be due by the clock
    if ((await redis.exists(keys.delivery(id))) === 1) return;
    const { status = '', run, replayId = '', replayRun } = record;
    if (!['sent', 'dead_letter', 'resolved'].includes(status) || run !== undefined || replayId !== '')
      throw new Error(`${id} left before it had ended ${JSON.stringify(record)}`);
    if (replayRun !== undefined) throw new Error(`${id} left, and run ${replayRun} waits for it`);
    this.ids.splice(this.ids.indexOf(id), 1);
    this.left.set(id, record);
  }

  async #fanOut(id: string): Promise<void> {
    const destination = destinationOf(id);
    const { keys } = DESTINATIONS[destination];
    const key = keys[this.ids.indexOf(id) % Math.max(1, keys.length)];
    const plan = [{ d: destination, ...(key !== undefined && { k: `${destination}/${key}` }) }];
    const eventKey = id.slice(0, id.indexOf('.'));
    this.#add(
      (
        await this.store.transitions.recordEvent({
          eventKey,
          source: 's',
          operator: 'default',
          plan,
          fields: { eventId: eventKey },
          from: 0,
          count: 100,
          replan: false,
        })
      ).alarms,
    );
  }

  #outcome(go: Go): Outcome {
    if (go.lookupFor !== '') return this.random.weighted<Outcome>(LOOK_UP_OUTCOMES);
    return this.random.weighted<Outcome>(queueOf(go.delivery) === 'erp' ? ERP_OUTCOMES : ENDPOINT_OUTCOMES);
  }

  #note(go: Go, outcome: Outcome): void {
    const created = this.created.get(go.delivery) ?? new Set();
    if (outcome === 'posted') this.created.set(go.delivery, created.add(go.attempt));
    if (outcome === 'already_posted' && created.size === 0) this.found.add(go.delivery);
  }

  async facts(id: string) {
    const { redis, keys } = this.store;
    const gate = await redis.hmget(keys.gate(destinationOf(id)), 'paused', 'forced', 'openUntil', 'removed');
    return {
      status: await this.store.status(id),
      paused: gate[0] === '1',
      open: gate[1] === '1' || Number(gate[2]) > (await this.store.now()),
      removed: gate[3] === '1',
    };
  }

  #begun(go: Go, before: Awaited<ReturnType<World['facts']>> | undefined): void {
    if (before && go.trigger === 'schedule') {
      if (['sent', 'dead_letter', 'resolved'].includes(before.status ?? ''))
        throw new Error(`begun by schedule after ${before.status}`);
      if (before.paused) throw new Error('begun by schedule at a paused destination');
    }
    if (before?.removed) throw new Error('begun at an endpoint that was removed');
    if (before?.open) throw new Error('begun while the breaker was open');
    this.flying.push(go);
  }

  #add(alarms: readonly { alarmId: string }[]): void {
    for (const { alarmId } of alarms) if (!this.random.chance(0.15)) this.jobs.add(alarmId); // else the job is lost
  }

  #token(): string {
    this.#tokens += 1;
    return `t${this.#tokens}`;
  }
}
