import { formatDuration } from '@breakwater/contracts/duration';
import { printable } from '@breakwater/core/printable';
import type { RefusedReplay, ReplayPlan } from '@breakwater/core/replay-plan';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import type { CliContext } from '../context.ts';

/** A person reads the counts; machines get all ids with --json. */
const LISTED_MAX = 20;

/** What a bulk replay would do now. */
export function printRehearsal(context: CliContext, plan: ReplayPlan): void {
  const { deliveries, refused, byDestination, byReason, estimateMs, matched } = plan;
  const result = {
    dryRun: true,
    matched,
    wouldReplay: deliveries.length,
    estimateMs,
    byDestination: Object.fromEntries(byDestination),
    byReason: Object.fromEntries(byReason),
    deliveries,
    refused: refused.map(({ delivery, error }) => ({
      delivery,
      code: error.code,
      message: error.message,
      remedy: error.remedy,
    })),
    notice: REPLAY_NOTICE,
  };
  context.print(result, () =>
    [
      `${deliveries.length} of ${matched} would be replayed, in about ${formatDuration(estimateMs)}. Nothing was changed.`,
      ...breakdown('to', byDestination),
      ...breakdown('given up as', byReason),
      ...(deliveries.length <= LISTED_MAX ? deliveries.map((id) => `  ${id}`) : []),
      ...sayRefused(refused),
      REPLAY_NOTICE,
    ].join('\n'),
  );
}

const breakdown = (words: string, counts: ReadonlyMap<string, number>): string[] =>
  [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, LISTED_MAX)
    .map(([name, number]) => `  ${number} ${words} ${printable(name)}`);

function sayRefused(refused: readonly RefusedReplay[]): string[] {
  if (refused.length === 0) return [];
  const more = refused.length - LISTED_MAX;
  return [
    `${refused.length} would be refused:`,
    ...refused
      .slice(0, LISTED_MAX)
      .map(({ error }) => `  ${printable(error.message)} ${error.remedy}`.trimEnd()),
    ...(more > 0 ? [`  and ${more} more (--json lists all)`] : []),
  ];
}
