import type { AttemptResult } from '@breakwater/contracts/attempt-result';
import type { BreakerState } from '@breakwater/store/gates';
import CircuitBreaker from 'opossum';

/** One result counts for one attempt; a bad one travels as an error because that is what opossum counts. */
class BadResult extends Error {
  override readonly name = 'BadResult';
  readonly result: AttemptResult;
  constructor(result: AttemptResult) {
    super(result.kind);
    this.result = result;
  }
}

/**
 * This replica's circuit breaker of one target. The decision to open or close is the fleet's (end-attempt.lua counts all
 * replicas' results); the valve keeps calls from being made here while it is open, and lets exactly one through as a
 * probe. opossum's own thresholds are switched off: its windows are timed, and an ERP that hangs for 30 s a call would
 * never fill one.
 */
export class Valve {
  readonly #breaker: CircuitBreaker<[() => Promise<AttemptResult>], AttemptResult>;
  readonly #ask: () => Promise<FleetState>;

  /** opossum keeps the object that it is given and reads `resetTimeout` from it at each opening. */
  readonly #options: { resetTimeout?: number } = {};

  /** `ask` reads the fleet's state of this target's breaker. */
  constructor(target: string, ask: () => Promise<FleetState>) {
    this.#ask = ask;
    this.#breaker = new CircuitBreaker(
      async (call: () => Promise<AttemptResult>) => {
        const result = await call();
        if (result.kind === 'failed' || result.kind === 'unknown') throw new BadResult(result);
        return result;
      },
      Object.assign(this.#options, {
        name: target,
        timeout: false as const, // the HTTP client bounds every call; opossum's time-out would not end it
        errorThresholdPercentage: 100, // strict `>`: never opens by itself
        volumeThreshold: Number.MAX_SAFE_INTEGER,
        rollingPercentilesEnabled: false,
        enableSnapshots: false,
      }),
    );
  }

  /** Asks the fleet and follows: open until the next probe may be made, or closed. */
  async refresh(): Promise<void> {
    const fleet = await this.#ask();
    if (fleet.state !== 'open') this.#breaker.close(); // half-open: who may probe is decided by the fleet's gate
    else if (!this.#breaker.opened) {
      // A person's opening has no end of its own.
      this.#options.resetTimeout = fleet.waitMs > 0 ? fleet.waitMs : FORCED_RESET_MS;
      this.#breaker.open();
    }
  }

  /** Runs a call unless the breaker is open. A probe was chosen by the fleet, one at a time, so it goes through. */
  async run(probe: boolean, call: () => Promise<AttemptResult>): Promise<AttemptResult> {
    // Our word may be older than the attempt's permission; deferring on old news would only ask again and again.
    if (!probe && !this.#breaker.closed) await this.refresh();
    if (probe) this.#breaker.close();
    try {
      return await this.#breaker.fire(call);
    } catch (error) {
      if (error instanceof BadResult) return error.result;
      if (error instanceof Error && CircuitBreaker.isOurError(error))
        return { kind: 'deferred', message: 'the circuit breaker is open' };
      throw error;
    }
  }

  shutdown(): void {
    this.#breaker.shutdown();
  }
}

type FleetState = Pick<BreakerState, 'state' | 'waitMs'>;

/** Longer than setTimeout can wait would fire at once; the next refresh comes within a second anyway. */
const FORCED_RESET_MS = 3_600_000;
