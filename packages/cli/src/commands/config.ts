import { BreakwaterConfig } from '@breakwater/contracts/config';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { AppError } from '@breakwater/runtime/errors';
import { createVerifier } from '@breakwater/signatures/verify';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { toJson } from '../output/json.ts';
import { renderFields } from '../output/table.ts';

/** `config check|schema`. Neither needs Redis. */
export function configCommand(program: Command, context: CliContext): void {
  const config = program.command('config').description('the configuration file');
  config
    .command('check')
    .description('check the configuration as the services do at their start; every mistake is listed')
    .action(context.action(() => check(context)));
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file, for editors')
    .action(context.action(() => printSchema(context)));
}

async function check(context: CliContext): Promise<void> {
  const path = context.environment().BREAKWATER_CONFIG;
  const config = context.config();
  checkWhatIsBuilt(config);
  // What a preset relies on and nobody has confirmed; try a delivery to a test system first.
  const unverified = Object.entries(config.sources).flatMap(([source, { unverified: facts }]) =>
    facts.map((fact) => ({ source, fact })),
  );
  const warnings = blindTargets(config);
  const result = {
    ok: true,
    path,
    sources: Object.keys(config.sources),
    erpTargets: Object.keys(config.erpTargets),
    routes: config.routes.length,
    ...(unverified.length > 0 && { unverified }),
    ...(warnings.length > 0 && { warnings }),
  };
  context.print(result, () =>
    [
      `${path} is valid.`,
      renderFields([
        ['sources', result.sources.join(', ') || 'none'],
        ['ERP targets', result.erpTargets.join(', ') || 'none'],
        ['routes', String(result.routes)],
      ]),
      ...warnings.map(({ target, warning }) => `${target}: warning: ${warning}`),
      ...unverified.map(({ source, fact }) => `${source}: unverified: ${fact}. See docs/providers.`),
    ].join('\n'),
  );
}

/**
 * What reading the file does not show: secrets that are no key of their source's algorithm, and what of the ERP targets
 * is made at the start. Calls nobody. Throws AppError config_invalid with the mistakes of both.
 */
export function checkWhatIsBuilt(config: BreakwaterConfig): void {
  const client = createHttpClient({});
  const mistakes = [...verifierMistakes(config), ...mistakesOf(() => createErpTargets(config, client))];
  client.close();
  if (mistakes.length > 0) throw new AppError('config_invalid', mistakes.join('\n'));
}

function verifierMistakes({ sources }: BreakwaterConfig): string[] {
  const mistakes = Object.entries(sources).flatMap(([name, source]) =>
    mistakesOf(() => createVerifier(source)).map((message) => `✖ ${message}\n  → at sources.${name}`),
  );
  return mistakes.length > 0 ? ['The sources are not valid:', ...mistakes] : [];
}

/** The words of an AppError that `make` throws; none where it succeeds. */
function mistakesOf(make: () => unknown): string[] {
  try {
    make();
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.message];
  }
}

/** Targets at which "exactly once" ends with the first lost answer. Allowed, since some ERPs offer nothing better. */
export function blindTargets({ erpTargets }: BreakwaterConfig): { target: string; warning: string }[] {
  return Object.entries(erpTargets)
    .filter(([, { canFind, dedupes }]) => !canFind && !dedupes)
    .map(([target]) => ({
      target,
      warning:
        'this ERP can neither look a reference up (adapter.find) nor refuse a second document (dedupes), so every lost answer becomes a dead letter (unknown_outcome) for a person',
    }));
}

async function printSchema(context: CliContext): Promise<void> {
  // 'input': what a person writes in the file (30s), not what the services read from it (30000).
  const schema = BreakwaterConfig.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  context.print(schema, () => toJson(schema));
}
