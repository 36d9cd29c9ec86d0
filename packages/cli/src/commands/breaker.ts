import { formatDuration } from '@breakwater/contracts/duration';
import { readTargetBreaker, setTargetBreaker, type TargetBreaker } from '@breakwater/core/destination-gates';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { checkTarget } from '../filters.ts';
import { dryRunOption, yesOption } from '../options.ts';
import { renderTable } from '../output/table.ts';
import { withDeliveries, withStore } from '../store-access.ts';

/** `breaker show|open|close`: the circuit breakers of the ERP targets. */
export function breakerCommand(program: Command, context: CliContext): void {
  const breaker = program.command('breaker').description('circuit breakers of the ERP targets');
  breaker
    .command('show')
    .description('the breaker of one ERP target, or of all')
    .argument('[target]')
    .action(context.action((target: string | undefined) => show(context, target)));
  for (const [name, description] of [
    ['open', 'stop posting to an ERP target until somebody closes the breaker; no attempts are consumed'],
    ['close', 'post again, beginning with one at a time'],
  ] as const) {
    const command = breaker
      .command(name)
      .description(description)
      .argument('<target>')
      .option('--reason <text>', 'why, for the audit log')
      .addOption(dryRunOption())
      .action(context.action((target: string, options: MoveOptions) => move(context, target, name, options)));
    if (name === 'open') command.addOption(yesOption());
  }
}

async function show(context: CliContext, target: string | undefined): Promise<void> {
  const config = context.config();
  if (target !== undefined) checkTarget(config, target);
  const names = target === undefined ? Object.keys(config.erpTargets) : [target];
  const breakers = await withStore(context, ({ redis, keys }) =>
    Promise.all(names.map((name) => readTargetBreaker(redis, keys, name))),
  );
  context.print(target === undefined ? { breakers, nextOffset: null } : breakers[0], () =>
    breakers.length === 0
      ? 'No ERP target is configured.'
      : renderTable(
          [{ title: 'TARGET' }, { title: 'BREAKER' }, { title: 'NEXT PROBE' }, { title: 'WAITING' }],
          breakers.map((breaker) => [
            breaker.target,
            stateOf(breaker),
            breaker.waitMs > 0 ? `in ${formatDuration(breaker.waitMs)}` : '-',
            String(breaker.waiting),
          ]),
        ),
  );
}

const stateOf = ({ state, forced }: TargetBreaker): string =>
  forced ? 'open, by hand: breaker close ends it' : state.replace('_', '-');

interface MoveOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

async function move(
  context: CliContext,
  target: string,
  name: 'open' | 'close',
  { reason = '', dryRun, yes }: MoveOptions,
): Promise<void> {
  checkTarget(context.config(), target);
  const to = name === 'open' ? 'open' : 'closed';
  const by = { operator: context.globals().operator, actor: context.actor, reason };
  const { changed, breaker } = dryRun
    ? await withStore(context, async ({ redis, keys }) => {
        const now = await readTargetBreaker(redis, keys, target);
        return { changed: to === 'open' ? !now.forced : now.state !== 'closed', breaker: now };
      })
    : await withDeliveries(context, async (deliveries) => {
        if (to === 'open')
          await context.confirm(
            `Stop posting to ${target}, of every operator, until somebody closes the breaker?`,
            yes,
          );
        const moved = await setTargetBreaker(deliveries, target, to, by);
        return {
          changed: moved,
          breaker: await readTargetBreaker(deliveries.redis, deliveries.keys, target),
        };
      });
  context.print({ ok: true, ...(dryRun && { dryRun }), changed, ...breaker }, () => {
    if (!changed) return `The breaker of ${target} is ${to} already; nothing to do.`;
    if (dryRun) return `The breaker of ${target} would be ${to}. Nothing was changed.`;
    return to === 'open'
      ? `The breaker of ${target} is open: its deliveries wait, nothing else notices. End it with: breaker close ${target}`
      : `The breaker of ${target} is closed; posting begins with one at a time.`;
  });
}
