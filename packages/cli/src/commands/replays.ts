import { changeBulkReplay, checkBulkReplayChange, findReplayRun } from '@breakwater/core/bulk-replay';
import { listReplayRuns, readReplayNotes } from '@breakwater/store/replay-runs';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { dryRunOption, limitOption, offsetOption } from '../options.ts';
import { withStore } from '../store-access.ts';
import { renderRun, renderRuns } from './replay-run-view.ts';

/** `replays list|show|cancel|resume`: bulk replays, which `dead-letters replay` starts and dispatchers carry out. */
export function replaysCommand(program: Command, context: CliContext): void {
  const replays = program.command('replays').description('bulk replays that dead-letters replay has started');
  replays
    .command('list')
    .description('runs, newest first')
    .addOption(limitOption())
    .addOption(offsetOption())
    .action(context.action((options: { limit: number; offset: number }) => list(context, options)));
  replays
    .command('show')
    .description('one run: what it was asked for, how far it is, the first of its failures and refusals')
    .argument('<run>')
    .action(context.action((id: string) => show(context, id)));
  for (const action of ['cancel', 'resume'] as const)
    replays
      .command(action)
      .description(
        action === 'cancel'
          ? 'stop a run between two replays; what was asked for already is attempted all the same'
          : 'let a run go on where it stopped',
      )
      .argument('<run>')
      .option('--reason <text>', 'why, for the audit log')
      .addOption(dryRunOption())
      .action(context.action((id: string, options: ChangeOptions) => change(context, id, action, options)));
}

async function list(
  context: CliContext,
  { limit, offset }: { limit: number; offset: number },
): Promise<void> {
  const { operator } = context.globals();
  const found = await withStore(context, ({ redis, keys }) =>
    listReplayRuns(redis, keys, operator, offset, limit + 1),
  );
  const replays = found.slice(0, limit);
  const nextOffset = found.length > limit ? offset + limit : null;
  context.print({ replays, nextOffset }, () => {
    if (replays.length === 0) return 'No replay runs.';
    const table = renderRuns(replays, context.io.now());
    return nextOffset === null ? table : `${table}\n\nThere are more: --offset ${nextOffset}`;
  });
}

async function show(context: CliContext, id: string): Promise<void> {
  const { operator } = context.globals();
  const { run, notes } = await withStore(context, async (store) => ({
    run: await findReplayRun(store, operator, id),
    notes: await readReplayNotes(store.redis, store.keys, id),
  }));
  context.print({ ...run, notes }, () => renderRun(run, notes, context.io.now()));
}

interface ChangeOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

async function change(
  context: CliContext,
  id: string,
  action: 'cancel' | 'resume',
  { reason = '', dryRun }: ChangeOptions,
): Promise<void> {
  const { operator } = context.globals();
  const run = await withStore(context, (store) =>
    dryRun
      ? checkBulkReplayChange(store, operator, id, action)
      : changeBulkReplay(store, { operator, id, action, actor: context.actor, reason }),
  );
  context.print({ ok: true, ...(dryRun && { dryRun }), ...run }, () =>
    dryRun
      ? `Run ${id} is ${run.state} with ${run.remaining} left; it would be ${action === 'cancel' ? 'cancelled' : 'resumed'}. Nothing was changed.`
      : `Run ${id} is ${run.state}: ${run.remaining} left, ${run.open} asked for without a result yet.`,
  );
}
