import { formatDuration } from '@breakwater/contracts/duration';
import { z } from 'zod';
import type { Answer } from '../page.ts';

export type Entry = Answer<'listAudit'>['entries'][number];

/** One setting, before and after, in words; undefined on the side where there was none. */
export interface Change {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const Side = z.record(z.string(), z.unknown()).catch({});

/** What an entry says about the record: what differs, or all of it where it was made or removed. */
export function changesOf({ before, after }: Pick<Entry, 'before' | 'after'>): Change[] {
  const [was, is] = [Side.parse(before), Side.parse(after)];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].map((name) => ({
    name,
    before: Object.hasOwn(was, name) ? inWords(name, was[name]) : undefined,
    after: Object.hasOwn(is, name) ? inWords(name, is[name]) : undefined,
  }));
}

/** Names carry units: `timeoutMs` is a duration, `expiresAt` a moment. */
function inWords(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : value.map((each) => inWords(name, each)).join(', ');
  if (typeof value === 'number' && name.endsWith('Ms')) return formatDuration(value);
  if (typeof value === 'number' && name.endsWith('At'))
    return `${new Date(value).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  if (typeof value === 'object') {
    const members = Object.entries(value).map(([member, each]) => `${member} ${inWords(member, each)}`);
    return members.length === 0 ? 'none' : members.join(', ');
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
