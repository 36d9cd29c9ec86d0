import type { z } from 'zod';
import { formatDuration } from './duration.ts';
import { RESERVED_SOURCE } from './reserved.ts';

/** Names that would be mistaken for something else in a metric or a ledger. */
const RESERVED: Readonly<Record<'sources' | 'erpTargets', Readonly<Record<string, string>>>> = {
  sources: {
    [RESERVED_SOURCE]: 'for events that applications publish',
    unknown: 'as the metric label of requests to no source',
  },
  erpTargets: { endpoint: 'as the metric label of all endpoints' },
};

type Issue = (path: (string | number)[], message: string) => void;

/**
 * What no part of the configuration can know of itself: names that are reserved, routes that lead nowhere, references that
 * may meet. Parts may be missing or of the wrong type here; that is told by their own checks.
 */
export function checkAcross(config: unknown, context: z.core.$RefinementCtx): void {
  const issue: Issue = (path, message) => context.addIssue({ code: 'custom', path, message });
  const sources = membersOf(config, 'sources');
  const erpTargets = membersOf(config, 'erpTargets');
  for (const [part, names] of Object.entries(RESERVED)) {
    const used = part === 'sources' ? sources : erpTargets;
    for (const [name, why] of Object.entries(names))
      if (used.has(name)) issue([part, name], `the name ${name} is reserved ${why}`);
  }
  for (const [index, key] of listOf(config, 'encryptionKeys').entries()) {
    if (typeof key !== 'string' || Buffer.from(key, 'base64').length === 32) continue;
    issue(['encryptionKeys', index], 'expected base64 of 32 bytes (openssl rand -base64 32)');
  }
  checkTokens(config, issue);
  checkRoutes(listOf(config, 'routes'), sources, erpTargets, issue);
  checkDedupe(config, sources, erpTargets, issue);
}

function checkTokens(config: unknown, issue: Issue): void {
  const single = partOf(config, 'publishToken');
  if (typeof single !== 'string' || single === '') return;
  for (const [index, token] of listOf(config, 'publishTokens').entries()) {
    if (partOf(token, 'value') === single)
      issue(['publishTokens', index, 'value'], 'it is publishToken too: whose events would they be?');
  }
}

/**
 * An id is remembered at least as long as its deliveries are retried, and as long as its records stay to be replayed: a late
 * repetition could overtake the ones, or would be taken for a new event after the others.
 */
function checkDedupe(config: unknown, sources: Members, erpTargets: Members, issue: Issue): void {
  const schedules = [
    listOf(partOf(config, 'deliveries'), 'retrySchedule'),
    ...[...erpTargets.values()].map((target) => listOf(target, 'retrySchedule')),
  ];
  const retriedMs = Math.max(
    ...schedules.map((waits) => waits.reduce<number>((sum, wait) => sum + Number(wait), 0)),
  );
  const retentionMs = Number(partOf(config, 'retention'));
  const check = (path: (string | number)[], ttlMs: unknown): void => {
    if (typeof ttlMs !== 'number') return;
    if (ttlMs < retriedMs)
      issue(path, `deliveries are retried for ${formatDuration(retriedMs)}: expected at least that`);
    else if (ttlMs < retentionMs)
      issue(
        path,
        `dedupe records (${formatDuration(ttlMs)}) must live at least as long as events can be replayed (retention, ${formatDuration(retentionMs)}): lengthen the one or shorten the other`,
      );
  };
  check(['ingest', 'dedupe'], partOf(partOf(config, 'ingest'), 'dedupe'));
  for (const [name, source] of sources)
    check(['sources', name, 'dedupe', 'ttl'], partOf(partOf(source, 'dedupe'), 'ttlMs'));
}

type Members = ReadonlyMap<string, unknown>;

function checkRoutes(routes: readonly unknown[], sources: Members, erpTargets: Members, issue: Issue): void {
  const feeding = new Map<string, Set<string>>();
  for (const [index, route] of routes.entries()) {
    const { source, target } = Object.fromEntries(membersOf({ route }, 'route'));
    if (typeof source === 'string' && !sources.has(source) && source !== RESERVED_SOURCE)
      issue(['routes', index, 'source'], `no source is called ${source}`);
    if (typeof target === 'string' && !erpTargets.has(target))
      issue(['routes', index, 'target'], `no ERP target is called ${target}`);
    if (typeof source === 'string' && typeof target === 'string')
      feeding.set(target, (feeding.get(target) ?? new Set()).add(source));
  }
  for (const [target, names] of feeding) {
    if (names.size < 2 || membersOf(Object.fromEntries(erpTargets), target).get('reference') !== undefined)
      continue;
    issue(
      ['erpTargets', target, 'reference'],
      `${[...names].join(' and ')} feed this target and their event ids may meet: configure a reference that tells them apart, for example source & ":" & eventId`,
    );
  }
}

function membersOf(value: unknown, key: string): Members {
  const part = partOf(value, key);
  return new Map(typeof part === 'object' && part !== null ? Object.entries(part) : []);
}

function listOf(value: unknown, key: string): readonly unknown[] {
  const part = partOf(value, key);
  return Array.isArray(part) ? part : [];
}

const partOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
