import { newId } from '@breakwater/contracts/ids';
import type { AlarmClocks } from '@breakwater/queue/alarms';
import { AppError } from '@breakwater/runtime/errors';
import { alreadyResolved, endpointRemoved, expired } from './replay-check.ts';
import type { ReplayInput } from '@breakwater/store/replay-answer';
import type { Transitions } from '@breakwater/store/transitions';

/** Shown wherever replay is offered. */
export const REPLAY_NOTICE =
  'Replay repeats the message, not the money. Reconcile monetary effects by their original financial key.';

/**
 * Asks for one more attempt of an existing delivery. Resolves to the replay's id.
 * Throws AppError: not_found, in_flight, replay_open, destination_paused, acknowledgement_needed, wrong_status, endpoint_removed,
 * request_invalid.
 */
export async function requestReplay(
  transitions: Transitions,
  clocks: AlarmClocks,
  request: Omit<ReplayInput, 'replayId'>,
): Promise<string> {
  if (request.reason.trim() === '')
    throw new AppError('request_invalid', 'A replay needs a reason (--reason): it goes into the audit log.');
  const replayId = newId();
  const answer = await transitions.requestReplay({ ...request, replayId });
  switch (answer.kind) {
    case 'ok':
      await clocks.set([answer.alarm]);
      return replayId;
    case 'not_found':
      throw new AppError(
        'not_found',
        `No delivery ${request.delivery} belongs to operator ${request.operator}.`,
      );
    case 'in_flight':
      throw new AppError(
        'in_flight',
        `An attempt of ${request.delivery} is in flight, for at most ${Math.ceil(answer.waitMs / 1_000)} s.`,
      );
    case 'already':
      throw new AppError(
        'replay_open',
        `Replay ${answer.replayId} of ${request.delivery} has not ended yet.`,
      );
    case 'paused':
      throw new AppError('destination_paused', `The destination of ${request.delivery} is paused.`);
    case 'expired':
      throw expired(request.delivery);
    case 'resolved':
      throw alreadyResolved(request.delivery);
    case 'removed':
      throw endpointRemoved(request.delivery);
    case 'needs_acknowledgement':
      throw new AppError(
        'acknowledgement_needed',
        `${request.delivery} was sent already, or may be at an ERP that can neither be asked nor dedupes.`,
      );
  }
}
