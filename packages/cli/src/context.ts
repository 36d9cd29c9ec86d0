import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { loadConfig } from '@breakwater/runtime/config';
import { type Environment, readEnvironment } from '@breakwater/runtime/environment';
import type { Command } from 'commander';
import { ask, isAttended } from './confirm.ts';
import type { Io } from './io.ts';
import { toJson } from './output/json.ts';

/** What every command is given. */
export interface CliContext {
  readonly io: Io;
  /** Valid once the command line has been parsed, which it is when an action runs. */
  readonly globals: () => Globals;
  /** The name in the audit log. */
  readonly actor: string;
  /** The environment with `--redis-url` and `--config` put in. Throws AppError config_invalid. */
  readonly environment: () => Environment;
  /** The configuration file. Throws AppError config_invalid. Commands that only look need none, so they do not ask. */
  readonly config: () => BreakwaterConfig;
  /** Prints the result: one JSON document with `--json`, else what `text` makes of it. Once per command. */
  readonly print: (result: unknown, text: () => string) => void;
  /** Says something to the person who watches: on stderr, and nothing with `--json`. */
  readonly note: (text: string) => void;
  /**
   * Asks the person at the terminal whether to go on; nobody is asked in a script or with `yes`. Throws AppError not_confirmed for
   * any answer but yes, and when the terminal is closed or Ctrl-C pressed instead of one.
   */
  readonly confirm: (question: string, yes: boolean | undefined) => Promise<void>;
  /** Makes an action for commander of a function that may resolve to an exit code. */
  readonly action: <A extends unknown[]>(
    run: (...args: A) => Promise<number | void>,
  ) => (...args: A) => Promise<void>;
  /** What the action that ran resolved to; 0 when to nothing. */
  readonly exitCode: () => number;
}

export interface Globals {
  readonly operator: string;
  readonly json?: boolean;
  readonly redisUrl?: string;
  readonly config?: string;
}

export function createContext(program: Command, io: Io): CliContext {
  let exitCode = 0;
  const globals = (): Globals => program.opts<Globals>();
  const env = (): NodeJS.ProcessEnv => {
    const { redisUrl, config } = globals();
    return {
      ...io.env,
      ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
      ...(config !== undefined && { BREAKWATER_CONFIG: config }),
    };
  };
  const environment = (): Environment => readEnvironment(env());
  return {
    io,
    globals,
    actor: `cli:${io.user}`,
    environment,
    config: () => loadConfig(environment(), env()),
    print(result, text) {
      io.stdout.write(`${globals().json ? toJson(result) : text()}\n`);
    },
    note(text) {
      if (!globals().json) io.stderr.write(`${text}\n`);
    },
    confirm: async (question, yes) => {
      if (yes !== true && isAttended(io)) await ask(io, question);
    },
    action:
      (run) =>
      async (...args) => {
        exitCode = (await run(...args)) ?? 0;
      },
    exitCode: () => exitCode,
  };
}
