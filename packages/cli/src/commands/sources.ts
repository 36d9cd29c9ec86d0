import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { formatDuration } from '@breakwater/contracts/duration';
import type { Source } from '@breakwater/contracts/source-config';
import { judgeSecrets, type SecretReport } from '@breakwater/core/secret-use';
import { judgeSilence } from '@breakwater/core/silence';
import { AppError } from '@breakwater/runtime/errors';
import { readSourceUse } from '@breakwater/store/source-use';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { parseDuration } from '../options.ts';
import { renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';
import { type Store, withStore } from '../store-access.ts';
import { renderSource } from './source-view.ts';

/** As long as most senders go on repeating, and the rhythm of what comes once a week. */
const UNUSED_FOR_MS = 7 * 86_400_000;

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
  const own = sourcesOf(context, context.config());
  const now = context.io.now();
  const sources = await withStore(context, (store) =>
    Promise.all(own.map(([name, source]) => describe(store, name, source, now, UNUSED_FOR_MS))),
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
  const own = sourcesOf(context, context.config());
  const source = own.find(([each]) => each === name)?.[1];
  if (source === undefined) {
    const { operator } = context.globals();
    const names = own.map(([each]) => each).join(', ') || 'none';
    throw new AppError('not_found', `No source ${name} of operator ${operator} is configured: ${names}.`, {
      remedy: '',
    });
  }
  const now = context.io.now();
  const shown = await withStore(context, (store) => describe(store, name, source, now, unusedFor));
  context.print({ ...shown, unusedForMs: unusedFor }, () =>
    renderSource(shown, now, formatDuration(unusedFor)),
  );
}

const sourcesOf = (context: CliContext, config: BreakwaterConfig): [string, Source][] =>
  Object.entries(config.sources).filter(([, { operator }]) => operator === context.globals().operator);

/** A source as it is shown: never a secret's value. */
async function describe(
  { redis, keys }: Store,
  name: string,
  source: Source,
  now: number,
  unusedForMs: number,
) {
  const use = await readSourceUse(redis, keys, name);
  const { silent, patienceMs, expected } = judgeSilence(use, now);
  return {
    name,
    operator: source.operator,
    preset: source.preset ?? null,
    observedSince: use.observedSince ?? null,
    lastSeenAt: use.lastSeenAt ?? null,
    lastAcceptedAt: use.lastAcceptedAt ?? null,
    silent,
    patienceMs: patienceMs ?? null,
    expected: Math.round(expected),
    secrets: judgeSecrets(source, use, now, unusedForMs),
  };
}
export type ShownSource = Awaited<ReturnType<typeof describe>>;
