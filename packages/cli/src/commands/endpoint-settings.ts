import type { EndpointPatch } from '@breakwater/contracts/endpoint';
import { AppError } from '@breakwater/runtime/errors';
import { type Command, Option } from 'commander';
import {
  collect,
  parseDuration,
  parseList,
  parseRate,
  parseSchedule,
  parseUrl,
  wholeNumber,
} from '../options.ts';

/** Options that `endpoints add` and `endpoints update` share. */
export interface SettingsOptions {
  readonly url?: string;
  readonly types?: readonly string[];
  readonly source?: readonly string[];
  readonly description?: string;
  readonly body?: 'envelope' | 'raw';
  readonly timeout?: number;
  readonly maxInFlight?: number;
  readonly rateLimit?: number | 'none';
  readonly burst?: number;
  readonly schedule?: readonly number[] | 'default';
  readonly reference?: 'event' | 'source';
  readonly header?: readonly string[];
}

export const urlOption = (): Option => new Option('--url <url>', 'where to deliver').argParser(parseUrl);

export function addSettingsOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--types <list>',
        'event types that it wants, such as order.*,refund.created (by default all: *)',
      ).argParser(parseList),
    )
    .addOption(
      new Option('--source <name>', 'only events of this source; may be repeated').argParser(collect),
    )
    .option('--description <text>', 'for people')
    .addOption(
      new Option(
        '--body <kind>',
        "what is sent: the envelope (by default), or the source's own bytes alone",
      ).choices(['envelope', 'raw']),
    )
    .addOption(
      new Option('--timeout <duration>', '1s to 30s, until the response headers').argParser(parseDuration),
    )
    .addOption(new Option('--max-in-flight <n>', 'attempts at once').argParser(wholeNumber(1, 1_000)))
    .addOption(
      new Option('--rate-limit <rate>', 'attempts per second (20/s) or minute (30/m), or none').argParser(
        orWord('none', parseRate),
      ),
    )
    .addOption(
      new Option('--burst <n>', "at once after a pause; by default one second's worth").argParser(
        wholeNumber(1, 10_000),
      ),
    )
    .addOption(
      new Option(
        '--schedule <waits>',
        "own retry schedule, such as 0s,1m,5m (every entry is one attempt), or default for the deployment's",
      ).argParser(orWord('default', parseSchedule)),
    )
    .addOption(
      new Option(
        '--reference <kind>',
        'what webhook-id is: the event id, or source:event id where several sources feed it',
      ).choices(['event', 'source']),
    )
    .addOption(
      new Option(
        '--header <header>',
        "static header 'Name: value'; may be repeated; stored sealed and not shown again",
      ).argParser(collect),
    );
}

/** The word itself rather than null, which commander would take for no value. */
const orWord =
  <W extends string, T>(word: W, parse: (text: string) => T) =>
  (text: string): T | W =>
    text === word ? word : parse(text);

/** Read here and not by commander, whose message would repeat the value, which may be a credential. */
function parseHeaders(texts: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const text of texts) {
    const colon = text.indexOf(':');
    if (colon < 1) throw new AppError('request_invalid', "A --header is not of the form 'Name: value'.");
    const name = text.slice(0, colon).trim().toLowerCase();
    if (headers.has(name)) throw new AppError('request_invalid', `The header ${name} is given twice.`);
    headers.set(name, text.slice(colon + 1).trim());
  }
  return Object.fromEntries(headers);
}

/** What the options say, for the functions of core. What was not said is left out. */
export function toSettings(options: SettingsOptions): EndpointPatch {
  const { url, types, source, description, body, timeout, maxInFlight, schedule, reference, header } =
    options;
  return {
    ...(url !== undefined && { url }),
    ...(types !== undefined && { types: [...types] }),
    ...(source !== undefined && { sources: [...source] }),
    ...(description !== undefined && { description }),
    ...(body !== undefined && { body }),
    ...(timeout !== undefined && { timeoutMs: timeout }),
    ...(maxInFlight !== undefined && { maxInFlight }),
    ...rateLimitOf(options),
    ...(schedule !== undefined && { scheduleMs: schedule === 'default' ? null : [...schedule] }),
    ...(reference !== undefined && { reference }),
    ...(header !== undefined && { headers: parseHeaders(header) }),
  };
}

function rateLimitOf({ rateLimit, burst }: SettingsOptions): Pick<EndpointPatch, 'rateLimit'> {
  if (typeof rateLimit === 'number')
    return { rateLimit: { perSecond: rateLimit, ...(burst !== undefined && { burst }) } };
  if (burst !== undefined)
    throw new AppError('request_invalid', '--burst belongs to a --rate-limit: give both.');
  return rateLimit === 'none' ? { rateLimit: null } : {};
}
