import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { backfillCommand } from './commands/backfill.ts';
import { breakerCommand } from './commands/breaker.ts';
import { configCommand } from './commands/config.ts';
import { deadLettersCommand } from './commands/dead-letters.ts';
import { deliveriesCommand } from './commands/deliveries.ts';
import { doctorCommand } from './commands/doctor.ts';
import { endpointsCommand } from './commands/endpoints.ts';
import { eventsCommand } from './commands/events.ts';
import { quarantineCommand } from './commands/quarantine.ts';
import { reconcileCommand } from './commands/reconcile.ts';
import { replaysCommand } from './commands/replays.ts';
import { secretsCommand } from './commands/secrets.ts';
import { verifyCommand } from './commands/verify.ts';
import { sourcesCommand } from './commands/sources.ts';
import { tokensCommand } from './commands/tokens.ts';
import { addCompletion } from './completion.ts';
import { type CliContext, createContext } from './context.ts';
import { EXIT_CODES_HELP, EXIT_CODES_HINT } from './exit-codes.ts';
import type { Io } from './io.ts';
import { parseOperator } from './options.ts';
import { stormCommand } from './storm/command.ts';

/** Below the help of every command but the first, which explains them. */
const GLOBALS_HINT = `
Options of every command: --operator <id>, --json, --redis-url <url>, --config <file>`;

/** The command line `breakwater`. Nothing runs until it is parsed; `runCli` does that and turns errors into exit codes. */
export function createProgram(io: Io): { program: Command; context: CliContext } {
  const program: Command = new Command('breakwater')
    .description(
      'Operate a Breakwater webhook gateway. Works on its Redis directly, also while the services are down.',
    )
    .addOption(
      new Option('--operator <id>', 'act as this operator; records of others are not found')
        .default('default')
        .argParser(parseOperator),
    )
    .addOption(new Option('--json', 'print one JSON document; errors as JSON on stderr'))
    .option('--redis-url <url>', 'instead of REDIS_URL')
    .option('--config <file>', 'instead of BREAKWATER_CONFIG')
    .version(readVersion(), '--version', 'print the version')
    .addHelpText('afterAll', ({ command }) =>
      command === program ? EXIT_CODES_HELP : `${GLOBALS_HINT}\n${EXIT_CODES_HINT}`,
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      // Help in the place of a result; with --json, stderr holds the error's document alone.
      writeErr: (text) => void (program.opts()['json'] === true || io.stderr.write(text)),
      outputError: () => undefined, // runCli prints every error, in one form
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  const context = createContext(program, io);
  endpointsCommand(program, context);
  deliveriesCommand(program, context);
  deadLettersCommand(program, context);
  replaysCommand(program, context);
  breakerCommand(program, context);
  eventsCommand(program, context);
  sourcesCommand(program, context);
  secretsCommand(program, context);
  configCommand(program, context);
  verifyCommand(program, context);
  quarantineCommand(program, context);
  reconcileCommand(program, context);
  backfillCommand(program, context);
  tokensCommand(program, context);
  doctorCommand(program, context);
  stormCommand(program, context);
  addCompletion(program, io);
  return { program, context };
}

function readVersion(): string {
  const json = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(json)).version;
}
