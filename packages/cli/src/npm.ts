import { AppError } from '@breakwater/runtime/errors';

/**
 * Options that change what is done, so that losing one is worse than an error: a rehearsal would become the real thing,
 * or another operator's. The others that npm swallows are missed at once.
 */
const DECISIVE = ['--dry-run', '--operator'];

/**
 * Without `--` before the command, `npm run` keeps the options for itself and leaves only `npm_config_dry_run=true` in
 * the environment. Throws AppError request_invalid when that happened to an option that decides what is done.
 */
export function refuseSwallowedOptions(args: readonly string[], env: NodeJS.ProcessEnv): void {
  const lost = DECISIVE.find((option) => env[nameInNpm(option)] && !isGiven(args, option));
  if (lost === undefined) return;
  throw new AppError(
    'request_invalid',
    `npm kept ${lost} for itself. Put -- before the command: npm run cli -- ${args.join(' ')} ${lost} ...`,
  );
}

const nameInNpm = (option: string): string => `npm_config_${option.slice(2).replaceAll('-', '_')}`;

const isGiven = (args: readonly string[], option: string): boolean =>
  args.some((arg) => arg === option || arg.startsWith(`${option}=`));
