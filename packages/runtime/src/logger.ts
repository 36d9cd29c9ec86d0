import { type Logger as PinoLogger, destination, pino } from 'pino';

export type Logger = PinoLogger;

/**
 * JSON lines on stdout. Payloads are never logged; what could hold a secret is cut at the serializer as a second fence.
 * Synchronous, so that the last line before a crash is not lost.
 */
export function createLogger(options: {
  readonly service: string;
  readonly level: string;
  readonly pretty?: boolean;
}): Logger {
  const redact = {
    paths: [
      'secret',
      'secrets',
      'token',
      'authorization',
      'password',
      '*.secret',
      '*.secrets',
      '*.token',
      '*.authorization',
      '*.password',
    ],
    censor: '[redacted]',
  };
  const base = { service: options.service };
  if (options.pretty === true) {
    return pino({
      level: options.level,
      base,
      redact,
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
    { level: options.level, base, redact, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ sync: true }),
  );
}
