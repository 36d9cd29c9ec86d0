import type { Source } from '@breakwater/contracts/source-config';
import type { Acceptor } from '@breakwater/core/accept';
import { printable } from '@breakwater/core/printable';
import { retryQuarantined, type RetryResult } from '@breakwater/core/quarantine';
import { findQuarantined, sourceOfEntry, viewOfQuarantined } from '@breakwater/core/quarantine-list';
import { explainQuarantined } from '@breakwater/core/quarantine-report';
import { type NamedSource, sourcesOfOperator } from '@breakwater/core/source-report';
import { AppError } from '@breakwater/runtime/errors';
import {
  listQuarantine,
  type QuarantineEntry,
  type QuarantineFacts,
  readQuarantine,
} from '@breakwater/store/quarantine';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { dryRunOption } from '../options.ts';
import { renderFields, renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';
import { withAcceptor } from '../acceptor-access.ts';
import { type Store, withStore } from '../store-access.ts';

/** `quarantine list|show|retry`: requests that were refused and look authentic. */
export function quarantineCommand(program: Command, context: CliContext): void {
  const quarantine = program
    .command('quarantine')
    .description('webhooks that were refused although they carry a signature; kept for 24 h, 100 per source');
  quarantine
    .command('list')
    .description('what is kept, newest first; no header values and no bodies')
    .option('--source <name>', 'only of this source')
    .action(context.action((options: { source?: string }) => list(context, options.source)));
  quarantine
    .command('show')
    .description('one refused request, and what would come of it with the configuration of today')
    .argument('<id>')
    .option('--body', 'print the body too')
    .action(context.action((id: string, options: { body?: boolean }) => show(context, id, options)));
  quarantine
    .command('retry')
    .description('judge refused requests again, by the configuration of today, and accept what is right')
    .argument('[ids...]')
    .addOption(new Option('--all', 'everything that is kept'))
    .option('--source <name>', 'with --all: only of this source')
    .option('--reason <text>', 'why, for the audit log')
    .addOption(dryRunOption())
    .action(context.action((ids: string[], options: RetryOptions) => retry(context, ids, options)));
}

interface RetryOptions {
  readonly all?: boolean;
  readonly source?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** The operator's sources. Throws AppError source_unknown for one that is not. */
function sourcesOf(context: CliContext, only: string | undefined): NamedSource[] {
  const { operator } = context.globals();
  const own = sourcesOfOperator(context.config(), operator);
  const asked = only === undefined ? own : own.filter(([name]) => name === only);
  if (only !== undefined && asked.length === 0)
    throw new AppError('source_unknown', `Operator ${operator} has no source ${only}.`);
  return asked;
}

async function listed({ redis, keys }: Store, sources: readonly NamedSource[]): Promise<QuarantineFacts[]> {
  const lists = await Promise.all(sources.map(([name]) => listQuarantine(redis, keys, name)));
  return lists.flat().toSorted((one, other) => other.receivedAt - one.receivedAt);
}

async function list(context: CliContext, only: string | undefined): Promise<void> {
  const sources = sourcesOf(context, only);
  const found = await withStore(context, (store) => listed(store, sources));
  const entries = found.map(viewOfQuarantined);
  context.print({ entries, nextOffset: null }, () =>
    entries.length === 0
      ? 'Nothing is in quarantine.'
      : renderTable(
          [
            { title: 'ID' },
            { title: 'SOURCE' },
            { title: 'RECEIVED' },
            { title: 'REASON' },
            { title: 'BYTES' },
          ],
          entries.map(({ id, source, receivedAt, code, sizeBytes }) => [
            id,
            source,
            formatTime(receivedAt, context.io.now()),
            code,
            String(sizeBytes),
          ]),
        ),
  );
}

/** Throws AppError not_found, for another operator's too. */
const entryOf = (context: CliContext, { redis, keys }: Store, id: string): Promise<QuarantineEntry> =>
  findQuarantined(redis, keys, context.globals().operator, id);

const sourceOf = (context: CliContext, entry: QuarantineEntry): Source =>
  sourceOfEntry(entry, sourcesOf(context, undefined));

async function show(context: CliContext, id: string, { body }: { body?: boolean }): Promise<void> {
  const entry = await withStore(context, (store) => entryOf(context, store, id));
  const { sources } = context.config();
  const { now, slips } = await explainQuarantined(entry, sourceOf(context, entry), sources);
  const result = {
    ...viewOfQuarantined({ ...entry, sizeBytes: entry.body.length }),
    now,
    slips,
    ...(body && { body: entry.body.toString('utf8') }),
  };
  context.print(result, () =>
    [
      renderFields([
        ['id', entry.id],
        ['source', entry.source],
        ['received', formatTime(entry.receivedAt, context.io.now())],
        ['refused', `${entry.code}: ${entry.message}`],
        ['headers', result.headers.join(', ')],
        ['body', `${entry.body.length} bytes`],
        ['today', textOf(now, true)],
      ]),
      ...slips.map(({ says }) => `- ${printable(says)}`),
      ...(body ? ['', printable(entry.body.toString('utf8'))] : []),
    ].join('\n'),
  );
}

function textOf(result: RetryResult, isRehearsal: boolean): string {
  switch (result.kind) {
    case 'accepted': {
      const ids = result.events.map(({ eventId }) => eventId).join(', ');
      if (isRehearsal) return `would be accepted: ${ids}`;
      return result.events.every(({ deduped }) => deduped)
        ? `had been accepted before: ${ids}`
        : `accepted: ${ids}`;
    }
    case 'handshake':
      return 'a challenge or a ping, and no event';
    case 'refused':
      return `still refused (${result.code}): ${result.message}`;
    case 'unavailable':
      return `not accepted: ${result.message}`;
  }
}

async function retry(context: CliContext, ids: readonly string[], options: RetryOptions): Promise<number> {
  const { all = false, source: only, dryRun = false, reason = '' } = options;
  if (all === ids.length > 0) throw new AppError('request_invalid', 'Give ids, or --all.');
  if (only !== undefined && !all) throw new AppError('request_invalid', '--source belongs to --all.');
  const sources = sourcesOf(context, only);
  const results = await withStore(context, async (store) => {
    // Oldest first, as they would have come; one at a time in memory.
    const asked = all ? (await listed(store, sources)).map(({ id }) => id).toReversed() : ids;
    if (!all)
      await Promise.all(asked.map(async (id) => sourceOf(context, await entryOf(context, store, id))));
    const run = async (acceptor?: Acceptor): Promise<{ id: string; result: RetryResult }[]> => {
      const doors = acceptor && { ...store, acceptor, by: { actor: context.actor, reason } };
      const done: { id: string; result: RetryResult }[] = [];
      for (const id of asked) {
        if (context.io.signal.aborted) break;
        const entry = await readQuarantine(store.redis, store.keys, id);
        if (entry === undefined) continue; // somebody else's retry was faster, or its time was over
        done.push({ id, result: await retryQuarantined(entry, sourceOf(context, entry), doors) });
      }
      return done;
    };
    return dryRun || asked.length === 0 ? run() : withAcceptor(context, run);
  });
  context.print({ ok: true, dryRun, results }, () =>
    results.length === 0
      ? 'Nothing is in quarantine.'
      : results.map(({ id, result }) => printable(`${id}: ${textOf(result, dryRun)}`)).join('\n'),
  );
  return exitCode(results.map(({ result }) => result.kind));
}

/** The highest that applies: not accepted for trouble of ours, still refused. */
function exitCode(kinds: readonly RetryResult['kind'][]): number {
  if (kinds.includes('refused')) return EXIT.refused;
  return kinds.includes('unavailable') ? EXIT.failure : EXIT.ok;
}
