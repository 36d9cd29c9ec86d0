import type { AttemptTrigger } from '@breakwater/contracts/delivery';
import type { ScriptReply } from './script.ts';

/** Permission to make one attempt, as begin-attempt.lua and a hand-off of end-attempt.lua give it. */
export interface Go {
  readonly delivery: string;
  readonly alarmId: string;
  /** Number of the attempt, and the fence: a result with an older number changes nothing but the log. */
  readonly attempt: number;
  readonly trigger: AttemptTrigger;
  readonly scheduleMade: number;
  /** '' where it is the event id. */
  readonly reference: string;
  /** An earlier attempt may have been applied. */
  readonly doubt: boolean;
  /** Set: this attempt may only look up; the delivery is dead-lettered for this reason when nothing is found. */
  readonly lookupFor: string;
  readonly leaseMs: number;
  /** This attempt decides whether the breaker closes. */
  readonly probe: boolean;
  /** Length of the event's body as it is stored (base64 where it is no UTF-8): what reading it will take. */
  readonly bodyBytes: number;
}

/** Reads `{'go', ...}`. */
export function readGo(delivery: string, alarmId: string, reply: readonly ScriptReply[]): Go {
  const [, attempt, trigger, scheduleMade, reference, doubt, lookupFor, leaseMs, probe, bodyBytes] = reply;
  return {
    delivery,
    alarmId,
    attempt: Number(attempt),
    trigger: trigger as AttemptTrigger,
    scheduleMade: Number(scheduleMade),
    reference: String(reference),
    doubt: Number(doubt) === 1,
    lookupFor: String(lookupFor),
    leaseMs: Number(leaseMs),
    probe: Number(probe) === 1,
    bodyBytes: Number(bodyBytes),
  };
}

/** Reads a hand-off `[delivery, alarm id, go]` in JSON; undefined where there is none. */
export function readHandOff(json: ScriptReply | undefined): Go | undefined {
  if (typeof json !== 'string' || json === '') return undefined;
  const [delivery, alarmId, reply] = JSON.parse(json) as [string, string, ScriptReply[]];
  return readGo(delivery, alarmId, reply);
}
