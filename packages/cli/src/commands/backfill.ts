import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import type { Source } from '@breakwater/contracts/source-config';
import {
  backfill,
  type BackfillEntry,
  type BackfillFigures,
  type BackfillResult,
  ERRORS_LISTED,
} from '@breakwater/core/backfill';
import { type LineFormat, readMissed } from '@breakwater/core/backfill-request';
import { readLines } from '@breakwater/core/ndjson';
import { printable } from '@breakwater/core/printable';
import { listStripeEvents } from '@breakwater/core/stripe-events';
import { createHttpClient } from '@breakwater/http/client';
import { AppError } from '@breakwater/runtime/errors';
import { headerLines } from '@breakwater/signatures/headers';
import { writeAudit } from '@breakwater/store/audit';
import { type Command, Option } from 'commander';
import { withAcceptor } from '../acceptor-access.ts';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { collect, dryRunOption, parseDuration, parseRate, parseTimeOrAge } from '../options.ts';
import { startProgress } from '../output/progress.ts';
import { unreadable } from '../read-input.ts';
import { type Store, withStore } from '../store-access.ts';

interface Options {
  readonly source: string;
  readonly file?: string;
  readonly format: LineFormat;
  readonly from?: 'stripe';
  readonly since?: (nowMs: number) => number;
  readonly until?: (nowMs: number) => number;
  readonly undelivered?: boolean;
  readonly apiUrl: string;
  readonly type?: readonly string[];
  readonly rate?: number;
  readonly patience: number;
  readonly reason: string;
  readonly dryRun?: boolean;
}

/** `backfill`: events that our own outage missed, through the same accept step as webhooks. */
export function backfillCommand(program: Command, context: CliContext): void {
  program
    .command('backfill')
    .description(
      'take events that an outage of our own missed, as if their webhooks had come; what was taken before is a duplicate, so it may simply be repeated',
    )
    .requiredOption('--source <name>', 'the source whose rules find id, type and entity')
    .option('--file <path>', 'newline-delimited JSON, one delivery a line; - reads stdin')
    .addOption(
      new Option('--format <format>', 'body: a line is the body; request: a line is {"body", "headers"}')
        .choices(['body', 'request'])
        .default('body'),
    )
    .addOption(
      new Option('--from <provider>', "instead of a file: the provider's own list (STRIPE_API_KEY)").choices([
        'stripe',
      ]),
    )
    .addOption(
      new Option('--since <time>', 'with --from: created since, such as 6h or 2026-01-31T12:00Z').argParser(
        parseTimeOrAge,
      ),
    )
    .addOption(
      new Option('--until <time>', 'with --from: created until (default: now)').argParser(parseTimeOrAge),
    )
    .option('--undelivered', 'with --from: only what some endpoint of the account has not acknowledged')
    .option('--api-url <url>', "with --from: the provider's API", 'https://api.stripe.com')
    .option('--type <pattern>', 'only events of this type, such as order.*; may be repeated', collect)
    .addOption(new Option('--rate <rate>', 'at most so many, such as 50/s').argParser(parseRate))
    .addOption(
      new Option('--patience <duration>', 'how long to wait while Redis takes no events')
        .default(300_000, '5m')
        .argParser(parseDuration),
    )
    .option('--reason <text>', 'why, for the audit log', '')
    .addOption(dryRunOption())
    .action(context.action((options: Options) => run(context, options)));
}

async function run(context: CliContext, options: Options): Promise<number> {
  const config = context.config();
  const source = sourceOf(context, config, options.source);
  const stack = new AsyncDisposableStack();
  try {
    const { entries, total, what } = await open(context, options, source, stack);
    const result = await withStore(
      context,
      (store) =>
        (options.dryRun ? rehearse : take)({ context, options, source, config, entries, total, what, store }),
      { outageMs: options.patience },
    );
    print(context, options, result);
    if (result.stopped) return EXIT.failure;
    return result.failed > 0 ? EXIT.refused : EXIT.ok;
  } finally {
    await stack.disposeAsync();
  }
}

/** Throws AppError source_unknown, for another operator's too. */
function sourceOf(context: CliContext, { sources }: BreakwaterConfig, name: string): Source {
  const { operator } = context.globals();
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (source === undefined || source.operator !== operator)
    throw new AppError('source_unknown', `Operator ${operator} has no source ${name}.`);
  return source;
}

interface Opened {
  readonly entries: AsyncIterable<BackfillEntry>;
  /** Of `position`; 0 where it is not known. */
  readonly total: number;
  /** For the audit log. */
  readonly what: string;
}

async function open(
  context: CliContext,
  options: Options,
  source: Source,
  stack: AsyncDisposableStack,
): Promise<Opened> {
  if ((options.file === undefined) === (options.from === undefined))
    throw new AppError('request_invalid', 'Give --file or --from, one of them.');
  if (options.from !== undefined) return openStripe(context, options, stack);
  if (options.since ?? options.until ?? options.undelivered)
    throw new AppError('request_invalid', '--since, --until and --undelivered belong to --from.');
  const { file = '-', format } = options;
  // An envelope escapes the body, at worst every byte of it sixfold, and carries headers.
  const maxBytes = format === 'body' ? source.maxBodyBytes : source.maxBodyBytes * 6 + 65_536;
  const total = file === '-' ? 0 : await sizeOf(file);
  const stream = addAbortSignal(context.io.signal, file === '-' ? context.io.stdin : createReadStream(file));
  return {
    entries: fileEntries(stream, file, maxBytes, format, context.io.signal),
    total,
    what: `file ${file}`,
  };
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: unknown) => {
    throw unreadable('--file', file, error);
  });
  if (found.isDirectory()) throw unreadable('--file', file, { code: 'EISDIR' });
  return found.size;
}

/** Ends early, without an error, when a person ends it: a stream that nobody writes to any more must not keep it waiting. */
async function* fileEntries(
  stream: AsyncIterable<Buffer | string>,
  file: string,
  maxBytes: number,
  format: LineFormat,
  signal: AbortSignal,
): AsyncGenerator<BackfillEntry> {
  try {
    for await (const line of readLines(stream, maxBytes)) {
      const delivery =
        'bytes' in line
          ? readMissed(line.bytes, format)
          : ({ ok: false, message: `The line is longer than ${maxBytes} bytes.` } as const);
      yield { where: `line ${line.line}`, delivery, position: line.readBytes };
    }
  } catch (error) {
    if (signal.aborted) return;
    throw unreadable('--file', file, error);
  }
}

function openStripe(context: CliContext, options: Options, stack: AsyncDisposableStack): Opened {
  const { io } = context;
  const apiKey = io.env['STRIPE_API_KEY'] ?? '';
  if (!/^[\x21-\x7E]+$/.test(apiKey))
    throw new AppError('request_invalid', 'Set STRIPE_API_KEY to a key of the account that may read events.');
  if (options.since === undefined)
    throw new AppError('request_invalid', 'Give --since: how far back the outage began, such as 6h.');
  if (!URL.canParse(options.apiUrl)) throw new AppError('request_invalid', '--api-url is not a URL.');
  const sinceS = Math.floor(options.since(io.now()) / 1_000);
  const untilS = Math.floor((options.until?.(io.now()) ?? io.now()) / 1_000);
  const client = createHttpClient({});
  stack.defer(() => client.close());
  const { apiUrl, undelivered = false } = options;
  const list = { client, apiKey, apiUrl, sinceS, untilS, undelivered, signal: io.signal };
  return {
    entries: stripeEntries(list),
    total: 0,
    what: `stripe since ${new Date(sinceS * 1_000).toISOString()}`,
  };
}

async function* stripeEntries(list: Parameters<typeof listStripeEvents>[0]): AsyncGenerator<BackfillEntry> {
  let position = 0;
  for await (const { id, bytes } of listStripeEvents(list)) {
    position += 1;
    const delivery = { body: bytes, headers: headerLines(['content-type', 'application/json']), query: '' };
    yield { where: id, delivery: { ok: true, value: delivery }, position };
  }
}

interface Work extends Opened {
  readonly context: CliContext;
  readonly options: Options;
  readonly source: Source;
  readonly config: BreakwaterConfig;
  readonly store: Store;
}

const rehearse = (work: Work): Promise<BackfillResult> => runWith(work, {});

/** Half of what ingest allows: the missed events leave room for those that come now. */
const SHARE_OF_BACKLOG = 0.5;
const SHARE_OF_MEMORY = 0.9;

/** Audited before and after, so that a run that dies in the middle is in the log as well. */
async function take(work: Work): Promise<BackfillResult> {
  const { context, options, store, what } = work;
  const { ingest } = work.config;
  const limits = {
    ...ingest,
    maxWaitingEvents: Math.ceil(ingest.maxWaitingEvents * SHARE_OF_BACKLOG),
    maxMemoryRatio: ingest.maxMemoryRatio * SHARE_OF_MEMORY,
  };
  const { operator } = context.globals();
  const audit = (action: string, more: Readonly<Record<string, string>>): Promise<void> =>
    writeAudit(store.redis, store.keys, {
      action,
      operator,
      actor: context.actor,
      source: options.source,
      what,
      reason: options.reason,
      ...more,
    });
  return await withAcceptor(
    context,
    async (acceptor) => {
      await audit('backfill.begin', {});
      const result = await runWith(work, { acceptor });
      const { accepted, deduped, failed, stopped } = result;
      const figures = { accepted: String(accepted), deduped: String(deduped), failed: String(failed) };
      await audit('backfill.end', { ...figures, ...(stopped && { stopped: stopped.reason }) });
      return result;
    },
    limits,
  );
}

async function runWith(
  work: Work,
  more: Pick<Parameters<typeof backfill>[0], 'acceptor'>,
): Promise<BackfillResult> {
  const { context, options, source, store, total } = work;
  const progress = startProgress(context.io, 'back-filling', total);
  try {
    return await backfill({
      ...more,
      name: options.source,
      source,
      entries: work.entries,
      isKnown: async (eventKey) => (await store.redis.exists(store.keys.event(eventKey))) === 1,
      types: options.type ?? [],
      perSecond: options.rate ?? Infinity,
      patienceMs: options.patience,
      signal: context.io.signal,
      now: context.io.now,
      onProgress: (_figures: BackfillFigures, position) => progress.update(position),
    });
  } finally {
    progress.stop();
  }
}

function print(context: CliContext, { dryRun = false }: Options, result: BackfillResult): void {
  const { entries, accepted, deduped, differs, skipped, failed, errors, stopped } = result;
  context.print({ ok: failed === 0 && stopped === undefined, dryRun, ...result }, () =>
    [
      ...errors.map(({ where, message }) => `${printable(where)}: ${printable(message)}`),
      ...(failed > errors.length ? [`and ${failed - ERRORS_LISTED} more`] : []),
      ...(stopped
        ? [
            `Stopped at ${printable(stopped.at)}: ${printable(stopped.reason)}. Run it again: what was taken is a duplicate then.`,
          ]
        : []),
      `${entries} read: ${accepted} ${dryRun ? 'would be accepted' : 'accepted'}, ${deduped} accepted before${differs > 0 ? ` (${differs} with another body)` : ''}, ${skipped} skipped, ${failed} wrong.`,
      ...(dryRun ? ['Nothing was changed.'] : []),
    ].join('\n'),
  );
}
