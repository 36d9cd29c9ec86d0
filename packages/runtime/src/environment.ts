import { parseScheduleMs } from '@breakwater/contracts/duration';
import { z } from 'zod';
import { AppError } from './errors.ts';

/** Text that is read as a whole number; one message for everything else, since zod's own speak of NaN. */
const wholeNumber = (min: number, max: number) =>
  z.string().transform((text, context) => {
    const value = Number(text);
    if (/^\s*\d{1,15}\s*$/.test(text) && value >= min && value <= max) return value;
    context.addIssue({ code: 'custom', message: `expected a whole number from ${min} to ${max}` });
    return z.NEVER;
  });
const port = wholeNumber(0, 65_535);

const SCHEDULE_MAX = 50; // as in the file

/** Settings that every process reads from its environment. */
export const Environment = z.object({
  BREAKWATER_CONFIG: z.string().min(1).default('breakwater.config.yaml'),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, message: 'expected redis://host:port' })
    .default('redis://127.0.0.1:6390'),
  /** First part of every Redis key; two deployments may share a Redis under different ones. */
  KEY_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'expected 1 to 64 letters, digits, - and _')
    .default('bw'),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: port.optional(),
  OPS_PORT: port.optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_PRETTY: z.stringbool('expected true or false').default(false),
  DURABILITY: z.enum(['strict', 'relaxed']).default('strict'),
  RETRY_SCHEDULE: z
    .string()
    .transform((text, context) => {
      const schedule = parseScheduleMs(text);
      if (schedule && schedule.length <= SCHEDULE_MAX) return schedule;
      context.addIssue({
        code: 'custom',
        message: 'expected at most 50 durations such as 0s,1m,5m, none above 30d; every entry is one attempt',
      });
      return z.NEVER;
    })
    .optional(),
  SHUTDOWN_TIMEOUT_MS: wholeNumber(1_000, 600_000).optional(),
});
export type Environment = z.infer<typeof Environment>;

/** Reads the environment; an empty variable counts as unset. Throws AppError config_invalid listing every mistake. */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const set = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = Environment.safeParse(set);
  if (result.success) return result.data;
  throw new AppError('config_invalid', `The environment is not valid:\n${z.prettifyError(result.error)}`);
}
