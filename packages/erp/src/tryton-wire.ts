/**
 * How Tryton writes values in JSON (6.0: trytond/protocols/jsonrpc.py). What JSON has no type for is an object that
 * names its class; a plain number where a Decimal belongs would be refused, or worse, rounded.
 */

/** An exact decimal, as text such as `0.95`. */
export const decimal = (text: string): object => ({ __class__: 'Decimal', decimal: text });

/** A day from `2026-11-30`. */
export function date(text: string): object {
  const [year = 0, month = 1, day = 1] = text.split('-').map(Number);
  return { __class__: 'date', year, month, day };
}

/** An instant, ms since the epoch. Tryton keeps instants without a zone; its servers run on UTC. */
export function datetime(ms: number): object {
  const at = new Date(ms);
  return {
    __class__: 'datetime',
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    day: at.getUTCDate(),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    second: at.getUTCSeconds(),
    microsecond: at.getUTCMilliseconds() * 1_000,
  };
}

/** ms since the epoch of an instant that Tryton wrote; undefined when it is none. */
export function readDatetime(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const part = (name: string): number => Number(Reflect.get(value, name));
  if (Reflect.get(value, '__class__') !== 'datetime') return undefined;
  const ms = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
    Math.trunc(part('microsecond') / 1_000),
  );
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * The body of a call. Exactly these three keys: with any other (`jsonrpc`), Tryton answers in another protocol, in which
 * errors are pages of HTML.
 */
export const callBody = (id: number, method: string, params: readonly unknown[]): string =>
  JSON.stringify({ id, method, params });

/** Text that neither Python's UTF-8 nor a text column of PostgreSQL can hold would be an error of the ERP at each attempt. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
