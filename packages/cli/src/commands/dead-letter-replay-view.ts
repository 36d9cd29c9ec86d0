import type { Attempt } from '@breakwater/contracts/delivery';
import type { BulkReplayResult } from '@breakwater/core/bulk-replay';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import type { ReplayResult } from '@breakwater/core/replay-result';
import type { AppError } from '@breakwater/runtime/errors';
import type { CliContext } from '../context.ts';
import { count, wasOrWere } from '../output/count.ts';
import { printable } from '../output/printable.ts';
import { whyOf } from './delivery-view.ts';

export interface Refusal {
  readonly delivery: string;
  readonly error: AppError;
}

export interface ReplayOutcome {
  readonly result: ReplayResult;
  /** The attempt that decided a failed one. */
  readonly attempt?: Attempt;
}

/** What became of a bulk replay; `outcomes` per delivery where they were waited for. */
export function printBulkReplay(
  context: CliContext,
  { tickets, refused, stopped }: BulkReplayResult,
  outcomes: ReadonlyMap<string, ReplayOutcome> | undefined,
): void {
  const replays = tickets.map(({ delivery, replayId }) => ({
    delivery,
    replayId,
    ...(outcomes && toJsonOutcome(outcomes.get(delivery))),
  }));
  const tally = outcomes && countOf(outcomes);
  const summary = {
    replayed: tickets.length,
    ...(tally && { results: tally }),
    refused: refused.map(toJsonRefusal),
    stopped,
    replays,
    notice: REPLAY_NOTICE,
  };
  const found = tally
    ? `: ${tally.sent} sent, ${tally.failed} failed, ${tally.open} without a result yet`
    : '';
  context.print(summary, () =>
    [
      `${count(tickets.length, 'replay')} ${wasOrWere(tickets.length)} asked for${found}.`,
      ...(outcomes ? sayFailures(outcomes) : []),
      ...(tally && tally.open > 0 ? [STILL_OPEN] : []),
      ...sayRefusals(refused, wasOrWere(refused.length)),
      ...(stopped ? ['Stopped before all were asked for; run it again to go on.'] : []),
    ].join('\n'),
  );
}

const STILL_OPEN =
  'What has no result yet stays queued: are the services running, the destinations active and their breakers closed?';

/** What a bulk replay would do now. */
export function printRehearsal(
  context: CliContext,
  deliveries: readonly string[],
  refused: readonly Refusal[],
): void {
  const result = {
    dryRun: true,
    wouldReplay: deliveries.length,
    deliveries,
    refused: refused.map(toJsonRefusal),
    notice: REPLAY_NOTICE,
  };
  context.print(result, () =>
    [
      `${count(deliveries.length, 'dead letter')} would be replayed. Nothing was changed.`,
      ...deliveries.map((id) => `  ${id}`),
      ...sayRefusals(refused, 'would be'),
      REPLAY_NOTICE,
    ].join('\n'),
  );
}

const toJsonOutcome = ({ result, attempt }: ReplayOutcome = { result: 'open' }) => ({
  result,
  ...(attempt && { class: attempt.class, code: attempt.code }),
});

const toJsonRefusal = ({ delivery, error }: Refusal) => ({
  delivery,
  code: error.code,
  message: error.message,
  remedy: error.remedy,
});

function countOf(outcomes: ReadonlyMap<string, ReplayOutcome>): Record<ReplayResult, number> {
  const tally = { sent: 0, failed: 0, open: 0 };
  for (const { result } of outcomes.values()) tally[result] += 1;
  return tally;
}

function sayFailures(outcomes: ReadonlyMap<string, ReplayOutcome>): string[] {
  const failed = [...outcomes].filter(([, { result }]) => result === 'failed');
  if (failed.length === 0) return [];
  return [
    `${failed.length} failed:`,
    ...failed.map(
      ([delivery, { attempt }]) =>
        `  ${attempt ? printable(whyOf(attempt)) : 'no attempt was made'}, see: deliveries show ${delivery}`,
    ),
  ];
}

function sayRefusals(refused: readonly Refusal[], verb: string): string[] {
  if (refused.length === 0) return [];
  return [
    `${refused.length} ${verb} refused:`,
    ...refused.map(({ error }) => `  ${printable(error.message)} ${error.remedy}`.trimEnd()),
  ];
}
