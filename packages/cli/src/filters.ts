import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { type DeadLetterReason, DELIVERY_STATUSES } from '@breakwater/contracts/delivery';
import { FAILURE_CLASSES } from '@breakwater/contracts/failure-class';
import { erpDestination } from '@breakwater/contracts/ids';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import type { DeliveryQuery } from '@breakwater/core/delivery-walk';
import { sourcesOfOperator } from '@breakwater/core/source-report';
import { AppError } from '@breakwater/runtime/errors';
import { listEndpoints, readEndpoint } from '@breakwater/store/endpoints';
import { type Command, Option } from 'commander';
import type { CliContext } from './context.ts';
import { oneOf, parseTimeOrAge } from './options.ts';
import type { Store } from './store-access.ts';

/** A record, so that the compiler misses here a reason that is new. */
const REASONS = {
  exhausted: true,
  gone: true,
  rejected: true,
  mapping_failed: true,
  reference_conflict: true,
  unknown_outcome: true,
  endpoint_removed: true,
  held_expired: true,
} as const satisfies Record<DeadLetterReason, true>;

export const endpointOption = (): Option =>
  new Option('--endpoint <id>', 'only those to this endpoint').conflicts('target');
export const targetOption = (): Option =>
  new Option('--target <name>', 'only those to this ERP target').conflicts('endpoint');
export const reasonIsOption = (): Option =>
  new Option('--reason-is <reason>', 'only those given up for this reason').choices(Object.keys(REASONS));
/** What `--reason-is` of the list was called first; elsewhere `--reason` is the text for the audit log. */
export const formerReasonOption = (): Option =>
  new Option('--reason <reason>').choices(Object.keys(REASONS)).conflicts('reasonIs').hideHelp();
export const classOption = (): Option =>
  new Option('--class <class>', 'only those whose last attempt failed so').choices(
    Object.keys(FAILURE_CLASSES),
  );

/** Filters of a delivery's status; may be repeated. */
export function statusesOption(description: string): Option {
  const option = new Option('--status <status>', description).choices(DELIVERY_STATUSES);
  return option.argParser(oneOf(DELIVERY_STATUSES)); // the choices stay, for the help and for shells
}

/** Filters of a delivery's event, and of its times; see queryOf. `since`: what `--since` speaks of. */
export function addEventFilters(command: Command, context: CliContext, since: string): Command {
  const moment = (text: string): number => parseTimeOrAge(text)(context.io.now());
  return command
    .option('--source <name>', 'only events of this source')
    .option('--type <type>', 'only events of this type; order.* for all that begin so')
    .option('--event <id>', 'only the event with this id')
    .option('--since <time>', `only those ${since} since: 2h (ago), or 2026-01-31T12:00:00Z`, moment)
    .option('--until <time>', `only those ${since} until then`, moment);
}

export interface FilterOptions extends DestinationOptions {
  readonly class?: string;
  readonly reasonIs?: string;
  readonly source?: string;
  readonly type?: string;
  readonly event?: string;
  readonly since?: number;
  readonly until?: number;
}

/** What these options choose among the operator's deliveries. Throws AppError not_found, as destinationOf. */
export async function queryOf(
  context: CliContext,
  store: Store,
  options: FilterOptions,
): Promise<Omit<DeliveryQuery, 'status'>> {
  const { class: failureClass, reasonIs, source, type, event, since, until } = options;
  return {
    operator: context.globals().operator,
    ...(await destinationOf(context, store, options)),
    ...(failureClass !== undefined && { failureClass }),
    ...(reasonIs !== undefined && { reason: reasonIs }),
    ...(source !== undefined && { source }),
    ...(type !== undefined && { type }),
    ...(event !== undefined && { eventId: event }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

/** Where an event of the operator may have come from; undefined without a configuration that can be read. */
export function knownSources(context: CliContext): string[] | undefined {
  const config = readableConfig(context);
  if (!config) return undefined;
  const own = sourcesOfOperator(config, context.globals().operator).map(([name]) => name);
  return [RESERVED_SOURCE, ...own];
}

export interface DestinationOptions {
  readonly endpoint?: string;
  readonly target?: string;
}

/**
 * Destination id of `--endpoint` or `--target`. Throws AppError not_found for one that the operator neither has nor has
 * deliveries to: an empty list would hide that it is misspelt. One that was removed may still have deliveries.
 */
export async function destinationOf(
  context: CliContext,
  store: Store,
  options: DestinationOptions,
): Promise<{ destination?: string }> {
  const { endpoint, target } = options;
  if (endpoint !== undefined) {
    if (!(await hasDeliveries(context, store, endpoint))) await checkEndpoint(context, store, endpoint);
    return { destination: endpoint };
  }
  if (target === undefined) return {};
  const destination = erpDestination(target);
  if (!(await hasDeliveries(context, store, destination))) checkTargetIfKnown(context, target);
  return { destination };
}

const hasDeliveries = async (
  context: CliContext,
  { redis, keys }: Store,
  destination: string,
): Promise<boolean> =>
  (await redis.exists(keys.byDestination(context.globals().operator, destination))) === 1;

/** Ids are long; more would bury the message, and `endpoints list` has them all. */
const NAMED_MAX = 10;

async function checkEndpoint(context: CliContext, { redis, keys }: Store, id: string): Promise<void> {
  const { operator } = context.globals();
  if ((await readEndpoint(redis, keys, id))?.operator === operator) return;
  const ids = (await listEndpoints(redis, keys, operator)).map((each) => each.id);
  const named = ids.slice(0, NAMED_MAX).join(', ');
  const has = ids.length > NAMED_MAX ? `${named} and ${ids.length - NAMED_MAX} more` : named || 'none';
  throw new AppError('not_found', `No endpoint ${id} belongs to operator ${operator}. It has: ${has}.`, {
    remedy: '',
  });
}

/** Looking must work without a configuration, which alone knows the targets. */
function checkTargetIfKnown(context: CliContext, target: string): void {
  const config = readableConfig(context);
  if (config) checkTarget(config, target);
  else context.note(`The configuration cannot be read, so ${target} may be misspelt: see config check.`);
}

/** The configuration, undefined where it is not there or not valid. For commands that can do without. */
export function readableConfig(context: CliContext): BreakwaterConfig | undefined {
  try {
    return context.config();
  } catch (error) {
    if (error instanceof AppError && error.code === 'config_invalid') return undefined;
    throw error;
  }
}

/** Throws AppError not_found with the targets that are configured. */
export function checkTarget(config: BreakwaterConfig, target: string): void {
  if (Object.hasOwn(config.erpTargets, target)) return;
  throw new AppError(
    'not_found',
    `No ERP target is called ${target}. Configured: ${Object.keys(config.erpTargets).join(', ') || 'none'}.`,
    { remedy: '' },
  );
}

/** Throws AppError not_found with the sources that are configured. */
export function checkSource(config: BreakwaterConfig, source: string): void {
  if (source === RESERVED_SOURCE || Object.hasOwn(config.sources, source)) return;
  throw new AppError(
    'not_found',
    `No source is called ${source}. Configured: ${Object.keys(config.sources).join(', ') || 'none'}; applications publish as ${RESERVED_SOURCE}.`,
    { remedy: '' },
  );
}
