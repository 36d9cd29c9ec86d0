import { addEndpoint, draftEndpoint, type NewEndpoint } from '@breakwater/core/endpoints';
import { withoutSecrets } from '@breakwater/core/endpoint-view';
import { printable } from '@breakwater/core/printable';
import { NOT_PAUSED } from '@breakwater/store/gates';
import { createSecretBox } from '@breakwater/store/secret-box';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { dryRunOption } from '../options.ts';
import { withStore } from '../store-access.ts';
import { addSettingsOptions, type SettingsOptions, toSettings, urlOption } from './endpoint-settings.ts';
import { renderEndpoint } from './endpoint-view.ts';

interface AddOptions extends SettingsOptions {
  readonly url: string;
  readonly secret?: string;
  readonly dryRun?: boolean;
}

export function addCommand(endpoints: Command, context: CliContext): void {
  const command = endpoints
    .command('add')
    .description('register an endpoint; prints its signing secret, which is not shown again')
    .addOption(urlOption().makeOptionMandatory());
  addSettingsOptions(command)
    .option(
      '--secret <whsec>',
      'bring your own signing secret (a command line can be seen by other users of the machine)',
    )
    .addOption(dryRunOption())
    .action(context.action((options: AddOptions) => add(context, options)));
}

async function add(context: CliContext, options: AddOptions): Promise<void> {
  const config = context.config();
  const { secret: given, url } = options;
  const wanted: NewEndpoint = {
    ...toSettings(options),
    url,
    operator: context.globals().operator,
    ...(given !== undefined && { secret: given }),
  };
  const secrets = createSecretBox(config.encryptionKeys);
  await withStore(context, async (store) => {
    if (options.dryRun) {
      const { endpoint } = draftEndpoint(config, secrets, wanted);
      const { id: _id, createdAt: _createdAt, ...shown } = { ...withoutSecrets(endpoint), ...NOT_PAUSED };
      return context.print(
        { dryRun: true, ...shown },
        () => `An endpoint for ${printable(endpoint.url)} would be added. Nothing was changed.`,
      );
    }
    const { endpoint, secret } = await addEndpoint({ ...store, config, secrets }, wanted, context.actor);
    const shown = { ...withoutSecrets(endpoint), ...NOT_PAUSED };
    context.print({ ...shown, secret }, () =>
      [renderEndpoint(shown, context.io.now()), '', ...secretLines(secret)].join('\n'),
    );
  });
}

export const secretLines = (secret: string): string[] => [
  `signing secret  ${secret}`,
  'It is shown this once: hand it to the receiver, who verifies our signatures with it.',
];
