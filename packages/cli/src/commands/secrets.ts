import { reencryptSecrets, type Reencryption } from '@breakwater/core/reencrypt';
import { createSecretBox } from '@breakwater/store/secret-box';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { dryRunOption } from '../options.ts';
import { count } from '../output/count.ts';
import { withStore } from '../store-access.ts';

/** `secrets reencrypt`: what is stored sealed, of all operators, since the encryption keys are the deployment's. */
export function secretsCommand(program: Command, context: CliContext): void {
  program
    .command('secrets')
    .description("the deployment's stored secrets")
    .command('reencrypt')
    .description(
      'seal the secrets of all endpoints of all operators with the newest encryption key, so that older keys can be dropped',
    )
    .addOption(dryRunOption())
    .action(context.action((options: { dryRun?: boolean }) => reencrypt(context, options)));
}

async function reencrypt(context: CliContext, { dryRun = false }: { dryRun?: boolean }): Promise<number> {
  const secrets = createSecretBox(context.config().encryptionKeys);
  const result = await withStore(context, ({ redis, keys }) =>
    reencryptSecrets({ redis, keys, secrets }, { actor: context.actor, dryRun, signal: context.io.signal }),
  );
  const left = Object.keys(result.sealedWith).filter((key) => key !== secrets.newestKey);
  const ok = result.finished && result.unreadable.length === 0 && result.changedMeanwhile === 0;
  context.print({ ok, ...(dryRun && { dryRun }), newestKey: secrets.newestKey, ...result }, () =>
    render(result, secrets.newestKey ?? '', left, dryRun),
  );
  return ok ? EXIT.ok : EXIT.failure;
}

function render(result: Reencryption, newest: string, left: readonly string[], dryRun: boolean): string {
  const { endpoints, reencrypted, current, changedMeanwhile, unreadable, finished } = result;
  const lines = [
    `${count(endpoints, 'endpoint')}: ${current} under key ${newest} already, ${reencrypted} ${dryRun ? 'would be sealed anew. Nothing was changed.' : 'sealed anew.'}`,
    ...(changedMeanwhile > 0 ? [`${changedMeanwhile} changed meanwhile: run it again.`] : []),
    ...unreadable.map(({ id, operator, why }) => `${id} (operator ${operator}) stays as it is: ${why}`),
  ];
  if (!finished) lines.push('Stopped before all were looked at; run it again to go on.');
  else if (left.length > 0 && !dryRun) lines.push(`Still needed: ${left.join(', ')}.`);
  else if (!dryRun)
    lines.push(`Nothing needs another key than ${newest} any more: drop the others from ENCRYPTION_KEYS.`);
  return lines.join('\n');
}
