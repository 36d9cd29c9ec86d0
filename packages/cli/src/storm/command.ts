import { randomBytes } from 'node:crypto';
import { parseDurationMs } from '@breakwater/contracts/duration';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext } from '../context.ts';
import { wholeNumber } from '../options.ts';
import { withStore } from '../store-access.ts';
import type { Figures } from './figures.ts';
import { renderFigures } from './report.ts';
import { StormError } from './provider.ts';
import { runStorm, type StormPlan } from './run.ts';
import { readFaults, writeFaults } from './simulator.ts';
import { showProgress } from './progress.ts';

interface StormOptions {
  readonly orders: number;
  readonly deliveries: number;
  readonly concurrency: number;
  readonly source: string;
  readonly run?: string;
  readonly url?: string;
  readonly erpLatency?: readonly [number, number];
  readonly erpErrorRate?: number;
}

/** `storm`: the retry storm of the outage that Breakwater was made for, replayed and counted. */
export function stormCommand(program: Command, context: CliContext): void {
  program
    .command('storm')
    .description('replay a retry storm and count: every order posted once, every duplicate acknowledged')
    .option('--orders <n>', 'different events', wholeNumber(1, 1_000_000), 100)
    .option('--deliveries <n>', 'sends of them in all, in random order', wholeNumber(1, 10_000_000), 5_000)
    .option('--concurrency <n>', 'sends at once', wholeNumber(1, 5_000), 10)
    .option('--source <name>', 'source to send as; signed with its newest secret', 'demo-payments')
    .option('--run <id>', "repeat a run's ids, and expect nothing new")
    .option('--url <url>', 'where ingest listens (default: INGEST_URL, else http://127.0.0.1:8080)')
    .option('--erp-latency <ms>', 'of the ERP simulator during the run: 500 or 4000-8000', parseLatency)
    .option('--erp-error-rate <share>', 'of the ERP simulator during the run: 0 to 1', parseShare)
    .addHelpText(
      'after',
      '\nEnds when everything that follows from the run is sent or a dead letter. Exit code 0 only when the numbers are exact;\ndead letters that account for missing postings are exact, times never decide.',
    )
    .action(context.action((options: StormOptions) => storm(context, options)));
}

async function storm(context: CliContext, options: StormOptions): Promise<number> {
  const config = context.config();
  const plan = planStorm(context, config, options);
  const client = createHttpClient({});
  const targets = createErpTargets(config, client);
  const restore = await setFaults(config, plan.sourceName, options);
  const progress = showProgress(context.io);
  context.note(`storm ${plan.run}: ${plan.deliveries} deliveries of ${plan.orders} orders to ${plan.url}`);
  try {
    const figures = await withStore(
      context,
      (store) =>
        runStorm(plan, {
          ...store,
          targets,
          signal: context.io.signal,
          onProgress: progress.update,
          note: context.note,
        }),
      { outageMs: REDIS_OUTAGE_MS },
    );
    progress.stop();
    context.print(figures, () => renderFigures(figures));
    return exitCode(figures);
  } catch (error) {
    progress.stop();
    if (error instanceof AppError) throw error;
    if (!(error instanceof StormError)) throw error;
    throw new AppError(
      'storm_ended',
      `The storm ${plan.run} did not end: ${error.message} Repeat it with --run ${plan.run} to go on with the same orders.`,
      { cause: error },
    );
  } finally {
    await restore();
    client.close();
  }
}

/** The storm is also run to see what a Redis that restarts does to it. */
const REDIS_OUTAGE_MS = 120_000;

const exitCode = (figures: Figures): number => (figures.exact ? 0 : 1);

function planStorm(context: CliContext, config: BreakwaterConfig, options: StormOptions): StormPlan {
  const source = Object.hasOwn(config.sources, options.source) ? config.sources[options.source] : undefined;
  if (!source)
    throw new AppError(
      'not_found',
      `No source is called ${options.source}. Configured: ${Object.keys(config.sources).join(', ') || 'none'}.`,
      { remedy: '' },
    );
  if (options.deliveries < options.orders)
    throw new AppError(
      'request_invalid',
      `--deliveries is ${options.deliveries}: at least one for each of the ${options.orders} orders is needed.`,
    );
  if (options.run !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(options.run))
    throw new AppError('request_invalid', '--run takes up to 64 letters, digits, - and _.');
  const routes = config.routes.filter((route) => route.source === options.source);
  const type = routes.flatMap((route) => route.types).find((each) => !each.includes('*'));
  const serialKeys = routes.flatMap((route) => config.erpTargets[route.target]?.serialKey?.pointer ?? []);
  const base = options.url ?? context.io.env['INGEST_URL'] ?? 'http://127.0.0.1:8080';
  if (!URL.canParse(base))
    throw new AppError('request_invalid', `${base} is not a URL: give --url http://host:port.`);
  return {
    run: options.run ?? randomBytes(4).toString('hex'),
    sourceName: options.source,
    shape: { source, type: type ?? 'order.paid', serialKeys },
    url: new URL(`/webhooks/${options.source}`, base).href,
    orders: options.orders,
    deliveries: options.deliveries,
    concurrency: options.concurrency,
  };
}

/** Sets the simulator's faults for the run, where asked to. Resolves to what puts the earlier ones back. */
async function setFaults(
  config: BreakwaterConfig,
  source: string,
  options: StormOptions,
): Promise<() => Promise<void>> {
  if (options.erpLatency === undefined && options.erpErrorRate === undefined) return async () => undefined;
  const target = config.routes.find((route) => route.source === source)?.target;
  const adapter = target === undefined ? undefined : config.erpTargets[target]?.adapter;
  const baseUrl = adapter?.kind === 'http' ? adapter.baseUrl : undefined; // a real ERP has no faults to set
  if (baseUrl === undefined)
    throw new AppError(
      'request_invalid',
      `No route leads from ${source} to an ERP simulator, so there is none whose faults could be set.`,
    );
  try {
    const before = await readFaults(baseUrl);
    await writeFaults(baseUrl, {
      ...before,
      ...(options.erpLatency && { latencyMs: options.erpLatency }),
      ...(options.erpErrorRate !== undefined && { errorRate: options.erpErrorRate }),
    });
    return () => writeFaults(baseUrl, before).catch(() => undefined);
  } catch (error) {
    throw new AppError('storm_ended', messageOf(error), { cause: error });
  }
}

function parseLatency(text: string): [number, number] {
  const [from, to, ...rest] = text
    .split('-')
    .map((part) => parseDurationMs(part) ?? (/^\d+$/.test(part) ? Number(part) : Number.NaN));
  const range: [number, number] = [from ?? Number.NaN, to ?? from ?? Number.NaN];
  if (rest.length > 0 || range.some(Number.isNaN) || range[0] > range[1])
    throw new InvalidArgumentError('Expected milliseconds such as 500, or a range such as 4000-8000.');
  return range;
}

function parseShare(text: string): number {
  const share = Number(text);
  if (text.trim() === '' || !(share >= 0 && share <= 1))
    throw new InvalidArgumentError('Expected a share from 0 to 1, such as 0.3.');
  return share;
}
