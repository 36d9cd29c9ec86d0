import {
  type DestinationStream,
  type Logger as PinoLogger,
  type LoggerOptions,
  destination,
  pino,
} from 'pino';
import { redactFields, redactText } from './log-redaction.ts';

export type Logger = PinoLogger;

/**
 * JSON lines on stdout. Payloads are never logged; what could hold a secret or a payload is cut at the serializer as a
 * second fence (log-redaction.ts). Synchronous, so that the last line before a crash is not lost. `to` is for tests.
 */
export function createLogger(options: {
  readonly service: string;
  readonly level: string;
  readonly pretty?: boolean;
  readonly to?: DestinationStream;
}): Logger {
  const common: LoggerOptions = {
    level: options.level,
    base: { service: options.service },
    formatters: { log: redactFields },
    serializers: { err: (error: Error) => redactFields({ ...pino.stdSerializers.err(error) }) },
    hooks: {
      logMethod(args, method) {
        const last = args.at(-1);
        if (typeof last === 'string') args[args.length - 1] = redactText(last);
        method.apply(this, args);
      },
    },
  };
  if (options.pretty === true) {
    return pino({
      ...common,
      transport: {
        target: 'pino-pretty',
        options: {
          sync: true,
          singleLine: true, // but for stack traces: a terminal should hold as many entries as it has lines
          ignore: 'pid,hostname,service',
          messageFormat: '{service}: {msg}',
          translateTime: 'SYS:HH:MM:ss.l',
        },
      },
    });
  }
  return pino(
    { ...common, timestamp: pino.stdTimeFunctions.isoTime },
    options.to ?? destination({ sync: true }),
  );
}
