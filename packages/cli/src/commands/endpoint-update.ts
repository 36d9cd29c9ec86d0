import { updateEndpoint } from '@breakwater/core/endpoints';
import { withoutSecrets } from '@breakwater/core/endpoint-view';
import { AppError } from '@breakwater/runtime/errors';
import { isPaused } from '@breakwater/store/endpoints';
import { createSecretBox } from '@breakwater/store/secret-box';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { collect, dryRunOption, wholeNumber } from '../options.ts';
import { withStore } from '../store-access.ts';
import { addSettingsOptions, type SettingsOptions, toSettings, urlOption } from './endpoint-settings.ts';
import { renderEndpoint } from './endpoint-view.ts';

interface UpdateOptions extends SettingsOptions {
  readonly allSources?: boolean;
  readonly removeHeader?: readonly string[];
  readonly ifVersion?: number;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export const ifVersionOption = (): Option =>
  new Option('--if-version <n>', 'only if it is still at this version (see endpoints show)').argParser(
    wholeNumber(1, 1e9),
  );

export function updateCommand(endpoints: Command, context: CliContext): void {
  const command = endpoints
    .command('update')
    .description(
      'change settings; what is not named stays. Attempts that have not begun follow at once; an armed retry keeps its time',
    )
    .argument('<id>')
    .addOption(urlOption());
  addSettingsOptions(command)
    .addOption(new Option('--all-sources', 'events of every source of the operator').conflicts('source'))
    .addOption(
      new Option('--remove-header <name>', 'take a static header away; may be repeated').argParser(collect),
    )
    .addOption(ifVersionOption())
    .option('--reason <text>', 'why, for the audit log')
    .addOption(dryRunOption())
    .action(context.action((id: string, options: UpdateOptions) => update(context, id, options)));
}

async function update(context: CliContext, id: string, options: UpdateOptions): Promise<void> {
  const config = context.config();
  const { ifVersion, reason, dryRun = false } = options;
  const patch = patchOf(options);
  if (Object.keys(patch).length === 0)
    throw new AppError('request_invalid', 'Say what to change: see endpoints update --help.');
  const change = {
    operator: context.globals().operator,
    id,
    actor: context.actor,
    ...(ifVersion !== undefined && { ifVersion }),
    ...(reason !== undefined && { reason }),
  };
  await withStore(context, async (store) => {
    const deps = { ...store, config, secrets: createSecretBox(config.encryptionKeys) };
    const { endpoint, changed } = await updateEndpoint(deps, change, patch, { dryRun });
    const shown = { ...withoutSecrets(endpoint), paused: await isPaused(store.redis, store.keys, id) };
    context.print({ ok: true, ...(dryRun && { dryRun }), changed, ...shown }, () =>
      [
        renderEndpoint(shown, context.io.now()),
        '',
        changed
          ? dryRun
            ? 'It would be so. Nothing was changed.'
            : 'Changed.'
          : 'It is so already; nothing to do.',
      ].join('\n'),
    );
  });
}

function patchOf(options: UpdateOptions): ReturnType<typeof toSettings> {
  const { allSources, removeHeader = [] } = options;
  const settings = toSettings(options);
  const headers = { ...settings.headers };
  for (const name of removeHeader) {
    if (Object.hasOwn(headers, name))
      throw new AppError('request_invalid', `The header ${name} is both set and removed.`);
    headers[name] = null;
  }
  return {
    ...settings,
    ...(allSources && { sources: [] }),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}
