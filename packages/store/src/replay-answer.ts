import type { ScriptReply } from './script.ts';
import type { Alarm } from './transitions.ts';

export interface ReplayInput {
  readonly delivery: string;
  readonly operator: string;
  readonly replayId: string;
  readonly mode: 'single' | 'restart';
  readonly acknowledged: boolean;
  readonly reason: string;
  readonly actor: string;
}

export type ReplayAnswer =
  | { readonly kind: 'ok'; readonly alarm: Alarm }
  | { readonly kind: RefusedReplay }
  | { readonly kind: 'in_flight'; readonly waitMs: number }
  | { readonly kind: 'already'; readonly replayId: string };

type RefusedReplay = 'not_found' | 'paused' | 'resolved' | 'removed' | 'needs_acknowledgement' | 'expired';

/** Reads what request-replay.lua says. */
export function readReplay(kind: ScriptReply | undefined, value: ScriptReply | undefined): ReplayAnswer {
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
