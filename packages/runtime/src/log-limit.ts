import type { Logger } from './logger.ts';

/** Writes a line, unless its kind had too many. `kind`: from a closed set, such as a source and an error code. */
export type LimitedLine = (kind: string, fields: Readonly<Record<string, unknown>>, message: string) => void;

export interface LimitedLines {
  readonly warn: LimitedLine;
  readonly error: LimitedLine;
}

/** Enough to see a pattern, and in a day no more than a disk holds. */
const MOST = 20;
const EVERY_MS = 60_000;

/**
 * Lines that a stranger can cause. Of one kind and level the first 20 of a minute are written; the others only at level
 * debug, and at the end of the minute one line says how many there were. Without it whoever reaches the port fills the
 * disk and buries what people must see. The metrics count everything.
 */
export function limitLines(
  logger: Logger,
  { most = MOST, everyMs = EVERY_MS }: { readonly most?: number; readonly everyMs?: number } = {},
): LimitedLines {
  const written = new Map<string, number>();
  const tell = (): void => {
    for (const [key, count] of written) {
      const [level = '', kind = ''] = key.split(/:(.*)/s);
      if (count > most)
        logger[level === 'error' ? 'error' : 'warn'](
          { kind, leftOut: count - most },
          'further lines of this kind were left out; LOG_LEVEL=debug shows them',
        );
    }
    written.clear();
  };
  const line =
    (level: 'warn' | 'error'): LimitedLine =>
    (kind, fields, message) => {
      if (written.size === 0) setTimeout(tell, everyMs).unref();
      const key = `${level}:${kind}`;
      const count = (written.get(key) ?? 0) + 1;
      written.set(key, count);
      logger[count > most ? 'debug' : level](fields, message);
    };
  return { warn: line('warn'), error: line('error') };
}
