import { formatDuration } from '@breakwater/contracts/duration';
import { withoutSecrets } from '@breakwater/core/endpoint-view';
import { finishRotation, rotateSecret } from '@breakwater/core/rotate-secret';
import { createSecretBox } from '@breakwater/store/secret-box';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { dryRunOption, parseDuration } from '../options.ts';
import { withStore } from '../store-access.ts';
import { secretLines } from './endpoint-add.ts';
import { ifVersionOption } from './endpoint-update.ts';

const OVERLAP_MS = 86_400_000; // a working day on either side of a receiver's deployment

interface RotateOptions {
  readonly overlap: number;
  readonly secret?: string;
  readonly finish?: boolean;
  readonly ifVersion?: number;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export function rotateCommand(endpoints: Command, context: CliContext): void {
  endpoints
    .command('rotate-secret')
    .description(
      'give an endpoint a new signing secret, shown once; the former one signs too until the overlap ends',
    )
    .argument('<id>')
    .addOption(
      new Option('--overlap <duration>', 'how long both sign, up to 30d; 0s ends the former at once')
        .default(OVERLAP_MS, '24h')
        .argParser(parseDuration),
    )
    .option(
      '--secret <whsec>',
      'bring your own signing secret (a command line can be seen by other users of the machine)',
    )
    .addOption(
      new Option('--finish', 'no new secret: end the overlap of the last rotation now').conflicts([
        'overlap',
        'secret',
      ]),
    )
    .addOption(ifVersionOption())
    .option('--reason <text>', 'why, for the audit log')
    .addOption(dryRunOption())
    .action(
      context.action((id: string, options: RotateOptions) =>
        options.finish ? finish(context, id, options) : rotate(context, id, options),
      ),
    );
}

const changeOf = (context: CliContext, id: string, { ifVersion, reason }: RotateOptions) => ({
  operator: context.globals().operator,
  id,
  actor: context.actor,
  ...(ifVersion !== undefined && { ifVersion }),
  ...(reason !== undefined && { reason }),
});

async function rotate(context: CliContext, id: string, options: RotateOptions): Promise<void> {
  const config = context.config();
  const { overlap, dryRun = false } = options;
  await withStore(context, async (store) => {
    const { endpoint, secret } = await rotateSecret(
      { ...store, config, secrets: createSecretBox(config.encryptionKeys) },
      changeOf(context, id, options),
      { overlapMs: overlap, ...(options.secret !== undefined && { secret: options.secret }) },
      { dryRun },
    );
    const { version, secrets } = withoutSecrets(endpoint);
    const former =
      overlap > 0
        ? `The former one signs too for ${formatDuration(overlap)}.`
        : 'The former one signs no more.';
    context.print({ ok: true, id, ...(dryRun ? { dryRun } : { secret }), version, secrets }, () =>
      dryRun
        ? `${id} would get a new secret. ${former} Nothing was changed.`
        : [...secretLines(secret), former].join('\n'),
    );
  });
}

async function finish(context: CliContext, id: string, options: RotateOptions): Promise<void> {
  const { dryRun = false } = options;
  await withStore(context, async (store) => {
    const { endpoint, changed } = await finishRotation(store, changeOf(context, id, options), { dryRun });
    const { version, secrets } = withoutSecrets(endpoint);
    context.print({ ok: true, id, ...(dryRun && { dryRun }), changed, version, secrets }, () => {
      if (!changed) return `No rotation of ${id} is open; nothing to do.`;
      return dryRun
        ? `The former secret of ${id} would sign no more. Nothing was changed.`
        : `The former secret of ${id} signs no more.`;
    });
  });
}
