import type { SignatureCheck } from '@breakwater/contracts/source-check';
import type { CheckInput, Given } from './given-signatures.ts';
import { timestampText } from './signed-content.ts';
import { refused, type Refusal, repeated } from './verdict.ts';

/** 16 digits reach the year 2286 in microseconds; more would leave the integers that a number holds exactly. */
const DIGITS = /^\d{1,16}$/;
/** With a zone: a time without one means something else on every machine. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

const UNITS = {
  s: 'a whole number of seconds since 1970',
  ms: 'a whole number of milliseconds since 1970',
  iso: 'a time such as 2030-01-31T12:00:00Z',
} as const;

/** Both ways: a request dated tomorrow could be kept and replayed until then. Undefined when the time is right. */
export function checkTimestamp(
  check: SignatureCheck,
  input: CheckInput,
  fields: Given['fields'],
  nowMs: number,
): Refusal | undefined {
  if (check.timestamp === undefined) return undefined;
  const { header, field, pointer, unit, tolerance, futureTolerance = tolerance } = check.timestamp;
  const where =
    header === undefined
      ? field === undefined
        ? `value at ${pointer}`
        : `field ${field}`
      : `header ${header}`;
  const read = timestampText(check, input, fields);
  if (!('text' in read)) {
    return read.why === 'repeated'
      ? repeated(read.where)
      : refused('signature_missing', `The ${read.where} is missing, and it is the time of signing. Send it.`);
  }
  const sentAtMs = parseTime(read.text, unit);
  if (sentAtMs === undefined)
    return refused('timestamp_out_of_tolerance', `The ${where} is not ${UNITS[unit]}.`);
  const ageMs = nowMs - sentAtMs;
  const allowedMs = ageMs > 0 ? tolerance : futureTolerance;
  if (Math.abs(ageMs) <= allowedMs) return undefined;
  const side = ageMs > 0 ? 'old' : 'far in the future';
  return refused(
    'timestamp_out_of_tolerance',
    `The ${where} is too ${side}: more than ${allowedMs / 1_000} s from the time here. Check the clocks, and sign again for every retry.`,
  );
}

/** When the request says that it was signed, ms since the epoch. Undefined where that cannot be read. */
export function signedAtMs(
  check: SignatureCheck,
  input: CheckInput,
  fields: Given['fields'],
): number | undefined {
  if (check.timestamp === undefined) return undefined;
  const read = timestampText(check, input, fields);
  return 'text' in read ? parseTime(read.text, check.timestamp.unit) : undefined;
}

/** Strict, because `NaN > tolerance` is false, and parseInt would take junk behind the digits. */
function parseTime(text: string, unit: 's' | 'ms' | 'iso'): number | undefined {
  if (unit === 'iso') {
    const ms = ISO.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(ms) ? undefined : ms;
  }
  return DIGITS.test(text) ? Number(text) * (unit === 's' ? 1_000 : 1) : undefined;
}
