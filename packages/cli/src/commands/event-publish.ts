import { isUtf8 } from 'node:buffer';
import { PUBLISH_LIMITS, PublishAnswer, PublishedEvent, PublishRefusal } from '@breakwater/contracts/publish';
import { publishTokensOf } from '@breakwater/contracts/publish-tokens';
import { printable } from '@breakwater/core/printable';
import { AppError, ERROR_CODES, type ErrorCode, messageOf } from '@breakwater/runtime/errors';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { dryRunOption } from '../options.ts';
import { readInput } from '../read-input.ts';

interface PublishOptions {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly occurredAt?: string;
  readonly url?: string;
  readonly dryRun?: boolean;
}

export function publishCommand(events: Command, context: CliContext): void {
  events
    .command('publish')
    .description(
      'publish an event to ingest, with the first publish token that the configuration has of the operator',
    )
    .requiredOption('--id <id>', 'your own id of the business fact; the same id is accepted once')
    .requiredOption('--type <type>', 'what routes and endpoints match on, such as order.paid')
    .requiredOption(
      '--data <json>',
      'any JSON value, delivered as written; @file reads a file, - reads stdin',
    )
    .option('--occurred-at <time>', 'when it happened, such as 2026-01-31T12:00:00Z')
    .option('--url <url>', 'where ingest listens (default: INGEST_URL, else http://127.0.0.1:8080)')
    .addOption(dryRunOption())
    .action(context.action((options: PublishOptions) => publish(context, options)));
}

/** Longer than ingest takes for anything; a repetition is safe. */
const TIMEOUT_MS = 10_000;

async function publish(context: CliContext, options: PublishOptions): Promise<void> {
  const { operator } = context.globals();
  const token = publishTokensOf(context.config()).find((each) => each.operator === operator);
  if (token === undefined)
    throw new AppError(
      'token_missing',
      `The configuration has no publish token of the operator ${operator}. Set PUBLISH_TOKEN, or add one to publishTokens.`,
    );
  const url = ingestUrl(context, options);
  const body = requestBody(options, await readData(context, options.data));
  if (options.dryRun) {
    return context.print(
      { dryRun: true, eventId: options.id, url },
      () => `${printable(options.id)} would be published to ${printable(url)}. Nothing was changed.`,
    );
  }
  const { status, answer } = await post(url, token.value, body, context.io.signal);
  const [result] = status === 202 ? (PublishAnswer.safeParse(answer).data?.results ?? []) : [];
  if (result === undefined || 'error' in result) throw refusalOf(status, answer, url);
  context.print({ ok: true, eventId: result.eventId, deduped: result.deduped }, () =>
    result.deduped
      ? `${printable(result.eventId)} had been accepted before: nothing was done.`
      : `${printable(result.eventId)} was accepted.`,
  );
}

function ingestUrl({ io }: CliContext, options: PublishOptions): string {
  const base = options.url ?? io.env['INGEST_URL'] ?? 'http://127.0.0.1:8080';
  if (!URL.canParse(base))
    throw new AppError('request_invalid', `${base} is not a URL: give --url http://host:port.`);
  return new URL('/v1/events', base).href;
}

async function readData(context: CliContext, data: string): Promise<string> {
  if (data !== '-' && !data.startsWith('@')) return data;
  const path = data === '-' ? data : data.slice(1);
  const bytes = await readInput(context, '--data', path, PUBLISH_LIMITS.requestBytes);
  // Otherwise what is no UTF-8 would become U+FFFD, and something else be delivered than was given.
  if (!isUtf8(bytes)) throw new AppError('request_invalid', '--data is not valid UTF-8. Give it in UTF-8.');
  return bytes.toString('utf8');
}

/** `data` is put in as it was given: parsed and printed again, 1.10 would become 1.1. */
function requestBody({ id, type, occurredAt }: PublishOptions, given: string): string {
  const data = given.replace(/^\uFEFF/, '').trim();
  const facts = { id, type, ...(occurredAt !== undefined && { occurredAt }) };
  const checked = PublishedEvent.safeParse({ ...facts, data: parse(data) });
  if (!checked.success) {
    const mistakes = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new AppError('request_invalid', `The event is not valid: ${mistakes.join('; ')}.`);
  }
  return `${JSON.stringify(facts).slice(0, -1)},"data":${data}}`;
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new AppError('request_invalid', '--data is not valid JSON. A text needs its quotes: \'"text"\'.');
  }
}

async function post(
  url: string,
  token: string,
  body: string,
  signal: AbortSignal,
): Promise<{ status: number; answer: unknown }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      redirect: 'error', // the token is for the address that was given
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const answer = await response.text();
    return { status: response.status, answer: parseAnswer(answer) };
  } catch (error) {
    throw new AppError(
      'unavailable',
      `Ingest at ${new URL(url).origin} did not answer (${messageOf(error)}). Whether it has the event is not known; publishing it again is safe.`,
      { cause: error },
    );
  }
}

function parseAnswer(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return undefined;
  }
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERROR_CODES, code);

/** Ingest's own error, so that code, remedy and exit code are those of the error; anything else is not ingest. */
function refusalOf(status: number, answer: unknown, url: string): AppError {
  const error = PublishRefusal.safeParse(answer).data?.error;
  if (error !== undefined && isCode(error.code)) return new AppError(error.code, error.message);
  return new AppError(
    'unavailable',
    `${new URL(url).origin} answered ${status}, but not as ingest does. Is it ingest (--url)?`,
  );
}
