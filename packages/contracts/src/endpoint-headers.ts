import { z } from 'zod';

/** Receivers accept 8 to 16 KiB of headers in all; ours and theirs must fit. */
export const HEADER_LIMITS = {
  headers: 20,
  nameChars: 64,
  /** What is read of an answer must hold a whole echoed value, so that it can be masked (see http/src/sample.ts). */
  valueChars: 1_024,
  totalChars: 6_144,
} as const;

/** Ours: they say what is sent and prove it, or belong to the connection. */
const RESERVED = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);
const RESERVED_PREFIXES = ['webhook-', 'breakwater-', 'proxy-'];

const NAME = /^[a-z0-9][a-z0-9._-]*$/;
/** Visible ASCII with blanks inside: a line break would forge a header, and other characters have no agreed encoding. */
const VALUE = /^[\u0021-\u007e](?:[\u0020-\u007e]*[\u0021-\u007e])?$/;

/**
 * Static headers of an endpoint by name; null takes one away in an update. Names become lower case. No message repeats a
 * value: it may be a credential.
 */
export const endpointHeaders = z
  .record(z.string(), z.string().nullable())
  .transform((given, context): Record<string, string | null> => {
    const headers = new Map<string, string | null>();
    for (const [written, value] of Object.entries(given)) {
      const name = written.toLowerCase();
      const mistake = headers.has(name) ? 'is given twice' : (mistakeOfName(name) ?? mistakeOfValue(value));
      if (mistake !== undefined)
        context.addIssue({ code: 'custom', message: `the header ${JSON.stringify(written)} ${mistake}` });
      headers.set(name, value);
    }
    const mistake = mistakeOfSize(
      [...headers].flatMap(([name, value]) => (value === null ? [] : [[name, value.length]])),
    );
    if (mistake !== undefined) context.addIssue({ code: 'custom', message: mistake });
    return Object.fromEntries(headers);
  });

function mistakeOfName(name: string): string | undefined {
  if (name.length > HEADER_LIMITS.nameChars) return `is longer than ${HEADER_LIMITS.nameChars} characters`;
  if (!NAME.test(name)) return 'is not a header name: letters, digits, - . and _';
  if (RESERVED.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix)))
    return 'is reserved: Breakwater or the connection sets it';
  return undefined;
}

function mistakeOfValue(value: string | null): string | undefined {
  if (value === null) return undefined;
  if (value.length > HEADER_LIMITS.valueChars)
    return `has a value longer than ${HEADER_LIMITS.valueChars} characters`;
  if (!VALUE.test(value)) return 'has a value that is empty, or not visible ASCII with blanks inside';
  return undefined;
}

/** Undefined when all headers together fit. For the headers of an update after they were merged, too. */
export function mistakeOfSize(
  headers: readonly (readonly [name: string, valueChars: number])[],
): string | undefined {
  if (headers.length > HEADER_LIMITS.headers)
    return `an endpoint has at most ${HEADER_LIMITS.headers} headers`;
  const chars = headers.reduce((sum, [name, valueChars]) => sum + name.length + valueChars, 0);
  return chars > HEADER_LIMITS.totalChars
    ? `the headers of an endpoint have at most ${HEADER_LIMITS.totalChars} characters in all`
    : undefined;
}
