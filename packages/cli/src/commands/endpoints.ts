import { getEndpoint, setEndpointPaused } from '@breakwater/core/destination-gates';
import { withoutSecrets } from '@breakwater/core/endpoint-view';
import { NO_ANSWERS, readRecentAnswers } from '@breakwater/store/recent-answers';
import { isPaused, listEndpoints } from '@breakwater/store/endpoints';
import { readPause } from '@breakwater/store/gates';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { dryRunOption } from '../options.ts';
import { renderTable } from '../output/table.ts';
import { withDeliveries, withStore } from '../store-access.ts';
import { addCommand } from './endpoint-add.ts';
import { removeCommand } from './endpoint-remove.ts';
import { rotateCommand } from './endpoint-rotate.ts';
import { testCommand } from './endpoint-test.ts';
import { updateCommand } from './endpoint-update.ts';
import { renderEndpoint } from './endpoint-view.ts';

/** `endpoints add|list|show|update|pause|resume|rotate-secret|test|remove`: the outbound subscribers of an operator. */
export function endpointsCommand(program: Command, context: CliContext): void {
  const endpoints = program.command('endpoints').description('subscribers that events are delivered to');
  addCommand(endpoints, context);
  endpoints
    .command('list')
    .description('all endpoints of the operator, oldest first')
    .action(context.action(() => list(context)));
  endpoints
    .command('show')
    .description('one endpoint with its settings; never its secret')
    .argument('<id>')
    .action(context.action((id: string) => show(context, id)));
  updateCommand(endpoints, context);
  for (const [name, description] of [
    ['pause', 'stop delivering to an endpoint; its deliveries are held, not dropped'],
    ['resume', 'deliver again, beginning with one at a time'],
  ] as const) {
    endpoints
      .command(name)
      .description(description)
      .argument('<id>')
      .option('--reason <text>', 'why, for the audit log')
      .addOption(dryRunOption())
      .action(context.action((id: string, options: MoveOptions) => move(context, id, name, options)));
  }
  rotateCommand(endpoints, context);
  testCommand(endpoints, context);
  removeCommand(endpoints, context);
}

async function list(context: CliContext): Promise<void> {
  const endpoints = await withStore(context, async ({ redis, keys }) => {
    const records = await listEndpoints(redis, keys, context.globals().operator);
    return Promise.all(
      records.map(async (record) => ({
        ...withoutSecrets(record),
        ...(await readPause(redis, keys, record.id)),
      })),
    );
  });
  context.print({ endpoints, nextOffset: null }, () =>
    endpoints.length === 0
      ? 'No endpoints. Add one with: endpoints add --url https://...'
      : renderTable(
          [
            { title: 'ID' },
            { title: 'STATE' },
            { title: 'URL', max: 60 },
            { title: 'TYPES', max: 30 },
            { title: 'SOURCES', max: 30 },
            { title: 'DESCRIPTION', max: 30 },
          ],
          endpoints.map((each) => [
            each.id,
            each.paused ? 'paused' : 'active',
            each.url,
            each.types.join(','),
            each.sources.join(',') || 'all',
            each.description,
          ]),
        ),
  );
}

async function show(context: CliContext, id: string): Promise<void> {
  const endpoint = await withStore(context, async ({ redis, keys }) => {
    const [recent = NO_ANSWERS] = await readRecentAnswers(redis, keys, [id]);
    return {
      ...withoutSecrets(await getEndpoint(redis, keys, context.globals().operator, id)),
      ...(await readPause(redis, keys, id)),
      recent,
    };
  });
  context.print(endpoint, () => renderEndpoint(endpoint, context.io.now()));
}

interface MoveOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

async function move(
  context: CliContext,
  id: string,
  name: 'pause' | 'resume',
  { reason = '', dryRun }: MoveOptions,
): Promise<void> {
  const { operator } = context.globals();
  const paused = name === 'pause';
  const changed = dryRun
    ? await withStore(context, async ({ redis, keys }) => {
        await getEndpoint(redis, keys, operator, id);
        return (await isPaused(redis, keys, id)) !== paused;
      })
    : await withDeliveries(context, (deliveries) =>
        setEndpointPaused(deliveries, id, paused, { operator, actor: context.actor, reason }),
      );
  context.print({ ok: true, ...(dryRun && { dryRun }), id, paused, changed }, () => {
    const state = paused ? 'paused' : 'active';
    if (!changed) return `${id} is ${state} already; nothing to do.`;
    return dryRun ? `${id} would be ${state}. Nothing was changed.` : `${id} is ${state}.`;
  });
}
