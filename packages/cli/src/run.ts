import { printableLines } from '@breakwater/core/printable';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { CommanderError } from 'commander';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import type { Io } from './io.ts';
import { refuseSwallowedOptions } from './npm.ts';
import { toJson } from './output/json.ts';
import { createProgram } from './program.ts';

/** Runs one command line (without node and the script). Never throws; resolves to the exit code. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  const { program, context } = createProgram(io);
  try {
    refuseSwallowedOptions(args, io.env);
    await program.parseAsync([...args], { from: 'user' });
    return context.exitCode();
  } catch (error) {
    // Asked of the arguments, since a command line that could not be parsed has no options yet.
    return report(error, io, args.includes('--json'));
  }
}

function report(error: unknown, io: Io, json: boolean): number {
  if (error instanceof CommanderError) return reportUsage(error, io, json);
  if (error instanceof AppError) {
    print(io, json, { code: error.code, message: error.message, remedy: error.remedy });
    return exitCodeOf(error);
  }
  const fault = new AppError('internal', messageOf(error));
  print(io, json, { code: fault.code, message: fault.message, remedy: fault.remedy });
  if (!json && error instanceof Error && error.stack !== undefined)
    io.stderr.write(`${printableLines(error.stack)}\n`);
  return EXIT.failure;
}

/** Help that was asked for ends here too, with exit code 0 and nothing left to say. */
function reportUsage(error: CommanderError, io: Io, json: boolean): number {
  if (error.exitCode === 0) return EXIT.ok;
  // `breakwater deliveries` without a subcommand: commander has printed the help already.
  const message =
    error.code === 'commander.help' ? 'a command is missing.' : error.message.replace(/^error: /, '');
  print(io, json, { code: 'request_invalid', message, remedy: 'Add --help to see what this command takes.' });
  return EXIT.usage;
}

function print(io: Io, json: boolean, error: { code: string; message: string; remedy: string }): void {
  if (json) io.stderr.write(`${toJson({ ok: false, error })}\n`);
  else
    io.stderr.write(
      `${printableLines([`error: ${error.message}`, error.remedy].filter(Boolean).join('\n'))}\n`,
    );
}
