import { addEndpoint, draftEndpoint, type NewEndpoint } from '@breakwater/core/endpoints';
import { NOT_PAUSED } from '@breakwater/store/gates';
import { createSecretBox } from '@breakwater/store/secret-box';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import {
  collect,
  dryRunOption,
  parseDuration,
  parseList,
  parseSchedule,
  parseUrl,
  wholeNumber,
} from '../options.ts';
import { printable } from '../output/printable.ts';
import { withStore } from '../store-access.ts';
import { renderEndpoint, withoutSecrets } from './endpoint-view.ts';

interface AddOptions {
  readonly url: string;
  readonly types?: readonly string[];
  readonly source?: readonly string[];
  readonly description?: string;
  readonly body: 'envelope' | 'raw';
  readonly timeout?: number;
  readonly maxInFlight?: number;
  readonly schedule?: readonly number[];
  readonly reference?: 'event' | 'source';
  readonly secret?: string;
  readonly dryRun?: boolean;
}

export function addCommand(endpoints: Command, context: CliContext): void {
  endpoints
    .command('add')
    .description('register an endpoint; prints its signing secret, which is not shown again')
    .addOption(new Option('--url <url>', 'where to deliver').argParser(parseUrl).makeOptionMandatory())
    .addOption(
      new Option(
        '--types <list>',
        'event types that it wants, such as order.*,refund.created (default: all)',
      ).argParser(parseList),
    )
    .addOption(
      new Option('--source <name>', 'only events of this source; may be repeated').argParser(collect),
    )
    .option('--description <text>', 'for people')
    .addOption(
      new Option('--body <kind>', "what is sent: the envelope, or the source's own bytes alone")
        .choices(['envelope', 'raw'])
        .default('envelope'),
    )
    .addOption(
      new Option('--timeout <duration>', '1s to 30s, until the response headers').argParser(parseDuration),
    )
    .addOption(new Option('--max-in-flight <n>', 'attempts at once').argParser(wholeNumber(1, 1_000)))
    .addOption(
      new Option(
        '--schedule <waits>',
        'own retry schedule, such as 0s,1m,5m; every entry is one attempt',
      ).argParser(parseSchedule),
    )
    .addOption(
      new Option(
        '--reference <kind>',
        'what webhook-id is: the event id, or source:event id where several sources feed it',
      ).choices(['event', 'source']),
    )
    .option(
      '--secret <whsec>',
      'bring your own signing secret (a command line can be seen by other users of the machine)',
    )
    .addOption(dryRunOption())
    .action(context.action((options: AddOptions) => add(context, options)));
}

async function add(context: CliContext, options: AddOptions): Promise<void> {
  const config = context.config();
  const wanted = toNewEndpoint(options, context.globals().operator);
  const secrets = createSecretBox(config.encryptionKeys);
  await withStore(context, async (store) => {
    const deps = { ...store, config, secrets };
    if (options.dryRun) {
      const { endpoint } = draftEndpoint(config, secrets, wanted);
      const { id: _id, createdAt: _createdAt, ...shown } = withoutSecrets(endpoint, NOT_PAUSED);
      return context.print(
        { dryRun: true, ...shown },
        () => `An endpoint for ${printable(endpoint.url)} would be added. Nothing was changed.`,
      );
    }
    const { endpoint, secret } = await addEndpoint(deps, wanted, context.actor);
    const shown = withoutSecrets(endpoint, NOT_PAUSED);
    context.print({ ...shown, secret }, () =>
      [
        renderEndpoint(shown, context.io.now()),
        '',
        `signing secret  ${secret}`,
        'It is shown this once: hand it to the receiver, who verifies our signatures with it.',
      ].join('\n'),
    );
  });
}

function toNewEndpoint(options: AddOptions, operator: string): NewEndpoint {
  const {
    url,
    types = [],
    source = [],
    description = '',
    body,
    timeout,
    maxInFlight,
    schedule,
    reference,
    secret,
  } = options;
  return {
    operator,
    url,
    types,
    sources: source,
    description,
    body,
    ...(timeout !== undefined && { timeoutMs: timeout }),
    ...(maxInFlight !== undefined && { maxInFlight }),
    ...(schedule !== undefined && { scheduleMs: schedule }),
    ...(reference !== undefined && { reference }),
    ...(secret !== undefined && { secret }),
  };
}
