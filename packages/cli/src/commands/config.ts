import { BreakwaterConfig } from '@breakwater/contracts/config';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { AppError } from '@breakwater/runtime/errors';
import { createVerifier } from '@breakwater/signatures/verify';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { toJson } from '../output/printable.ts';
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
  createVerifiers(config);
  // Reading the file does not compile the mappings; this does, and calls nobody.
  const client = createHttpClient({});
  try {
    createErpTargets(config, client);
  } finally {
    client.close();
  }
  // What a preset relies on and nobody has confirmed; try a delivery to a test system first.
  const unverified = Object.entries(config.sources).flatMap(([source, { unverified: facts }]) =>
    facts.map((fact) => ({ source, fact })),
  );
  const result = {
    ok: true,
    path,
    sources: Object.keys(config.sources),
    erpTargets: Object.keys(config.erpTargets),
    routes: config.routes.length,
    ...(unverified.length > 0 && { unverified }),
  };
  context.print(result, () =>
    [
      `${path} is valid.`,
      renderFields([
        ['sources', result.sources.join(', ') || 'none'],
        ['ERP targets', result.erpTargets.join(', ') || 'none'],
        ['routes', String(result.routes)],
      ]),
      ...unverified.map(({ source, fact }) => `${source}: unverified: ${fact}. See docs/providers.`),
    ].join('\n'),
  );
}

/** Throws AppError config_invalid for a secret that is no key of its source's algorithm, as ingest does at its start. */
function createVerifiers({ sources }: BreakwaterConfig): void {
  const mistakes: string[] = [];
  for (const [name, source] of Object.entries(sources)) {
    try {
      createVerifier(source);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      mistakes.push(`✖ ${error.message}\n  → at sources.${name}`);
    }
  }
  if (mistakes.length > 0)
    throw new AppError('config_invalid', `The sources are not valid:\n${mistakes.join('\n')}`);
}

async function printSchema(context: CliContext): Promise<void> {
  // 'input': what a person writes in the file (30s), not what the services read from it (30000).
  const schema = BreakwaterConfig.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  context.print(schema, () => toJson(schema));
}
