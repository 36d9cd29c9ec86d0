import type { EndpointPatch } from '@breakwater/contracts/endpoint';
import { type Command, InvalidArgumentError, Option } from 'commander';
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
  readonly rateLimit?: number | null;
  readonly burst?: number;
  readonly schedule?: readonly number[] | null;
  readonly reference?: 'event' | 'source';
  readonly header?: readonly (readonly [name: string, value: string])[];
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
        orNull('none', parseRate),
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
      ).argParser(orNull('default', parseSchedule)),
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
      ).argParser(parseHeader),
    );
}

const orNull =
  <T>(word: string, parse: (text: string) => T) =>
  (text: string): T | null =>
    text === word ? null : parse(text);

/** The message does not repeat the value, which may be a credential. */
function parseHeader(
  text: string,
  previous: readonly (readonly [string, string])[] | undefined,
): readonly (readonly [string, string])[] {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError("Expected 'Name: value'.");
  const name = text.slice(0, colon).trim().toLowerCase();
  if (previous?.some(([given]) => given === name))
    throw new InvalidArgumentError(`The header ${name} is given twice.`);
  return [...(previous ?? []), [name, text.slice(colon + 1).trim()]];
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
    ...(schedule !== undefined && { scheduleMs: schedule && [...schedule] }),
    ...(reference !== undefined && { reference }),
    ...(header !== undefined && { headers: Object.fromEntries(header) }),
  };
}

function rateLimitOf({ rateLimit, burst }: SettingsOptions): Pick<EndpointPatch, 'rateLimit'> {
  if (rateLimit === undefined || rateLimit === null) {
    if (burst !== undefined) throw new InvalidArgumentError('--burst belongs to a --rate-limit: give both.');
    return rateLimit === null ? { rateLimit: null } : {};
  }
  return { rateLimit: { perSecond: rateLimit, ...(burst !== undefined && { burst }) } };
}
