import { formatDuration } from '@breakwater/contracts/duration';
import type { SecretReport } from '@breakwater/core/secret-use';
import { describeSource, sourcesOfOperator, UNUSED_FOR_MS } from '@breakwater/core/source-report';
import { AppError } from '@breakwater/runtime/errors';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { parseDuration } from '../options.ts';
import { renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';
import { withStore } from '../store-access.ts';
import { renderSource } from './source-view.ts';

/** `sources list|show`: who sends here, when they last did, and which secrets they still use. */
export function sourcesCommand(program: Command, context: CliContext): void {
  const sources = program.command('sources').description('where events come from');
  sources
    .command('list')
    .description('the configured sources of the operator, and when each was last heard of')
    .action(context.action(() => list(context)));
  sources
    .command('show')
    .description('one source: its last requests, and for each secret whether it can be removed')
    .argument('<name>')
    .addOption(
      new Option('--unused-for <duration>', 'how long a secret must be unused to be called safe to remove')
        .argParser(parseDuration)
        .default(UNUSED_FOR_MS, '7d'),
    )
    .action(context.action((name: string, options: ShowOptions) => show(context, name, options)));
}

interface ShowOptions {
  readonly unusedFor: number;
}

async function list(context: CliContext): Promise<void> {
  const own = sourcesOfOperator(context.config(), context.globals().operator);
  const now = context.io.now();
  const sources = await withStore(context, ({ redis, keys }) =>
    Promise.all(own.map((each) => describeSource(redis, keys, each, now, UNUSED_FOR_MS))),
  );
  context.print({ sources, nextOffset: null }, () =>
    sources.length === 0
      ? 'No sources are configured for this operator.'
      : renderTable(
          [
            { title: 'NAME' },
            { title: 'OPERATOR' },
            { title: 'PRESET' },
            { title: 'LAST SEEN' },
            { title: 'SILENT' },
            { title: 'SECRETS IN USE', max: 60 },
          ],
          sources.map((each) => [
            each.name,
            each.operator,
            each.preset ?? '-',
            each.lastSeenAt === null ? 'never' : formatTime(each.lastSeenAt, now),
            each.silent ? 'silent' : '-',
            inUse(each.secrets, now),
          ]),
        ),
  );
}

/** Those that were used within the time after which one counts as unused. */
const inUse = (secrets: readonly SecretReport[], now: number): string =>
  secrets
    .filter(({ lastUsedAt }) => lastUsedAt !== null && now - lastUsedAt < UNUSED_FOR_MS)
    .map(({ id }) => id)
    .join(', ') || '-';

async function show(context: CliContext, name: string, { unusedFor }: ShowOptions): Promise<void> {
  const own = sourcesOfOperator(context.config(), context.globals().operator);
  const source = own.find(([each]) => each === name);
  if (source === undefined) {
    const { operator } = context.globals();
    const names = own.map(([each]) => each).join(', ') || 'none';
    throw new AppError('not_found', `No source ${name} of operator ${operator} is configured: ${names}.`, {
      remedy: '',
    });
  }
  const now = context.io.now();
  const shown = await withStore(context, ({ redis, keys }) =>
    describeSource(redis, keys, source, now, unusedFor),
  );
  context.print({ ...shown, unusedForMs: unusedFor }, () =>
    renderSource(shown, now, formatDuration(unusedFor)),
  );
}
