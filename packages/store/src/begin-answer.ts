import { invariant } from '@breakwater/runtime/errors';
import { type Go, readGo } from './go.ts';
import type { ScriptReply } from './script.ts';
import type { Alarm } from './transitions.ts';

export type BeginAnswer =
  | { readonly kind: 'go'; readonly go: Go }
  | { readonly kind: 'busy' | 'early'; readonly waitMs: number }
  | { readonly kind: 'stale'; readonly arm: Alarm | undefined }
  | { readonly kind: 'parked'; readonly why: 'cap' | 'paused' | 'breaker' }
  /** `lookInMs`: when the rate lets one through again. No attempt may end by then, so somebody must look at the gate. */
  | { readonly kind: 'parked'; readonly why: 'rate'; readonly lookInMs: number }
  | { readonly kind: 'missing' };

/** Reads what begin-attempt.lua says. */
export function readBegin(delivery: string, alarmId: string, reply: readonly ScriptReply[]): BeginAnswer {
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
      return first === 'rate'
        ? { kind: 'parked', why: 'rate', lookInMs: Number(second) }
        : { kind: 'parked', why: first as 'cap' | 'paused' | 'breaker' };
    default:
      invariant(kind === 'missing', `beginAttempt answered ${String(kind)}`);
      return { kind: 'missing' };
  }
}
