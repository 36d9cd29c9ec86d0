import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startGuard } from '@breakwater/local-stack/guard';
import { type Child, probeHttp, spawnChild, waitReady } from '@breakwater/local-stack/processes';
import { freePort } from './free-port.ts';

const root = resolve(import.meta.dirname, '../..');
export const RULES_FILE = join(root, 'infra/prometheus/rules/breakwater.rules.yml');

/** Alertmanager's configuration as it runs: with the addresses put in, which it cannot read from its environment. */
export function renderAlertmanager(pageUrl: string, notifyUrl: string): string {
  return readFileSync(join(root, 'infra/alertmanager/alertmanager.yml'), 'utf8')
    .replace('${PAGE_WEBHOOK_URL}', pageUrl)
    .replace('${NOTIFY_WEBHOOK_URL}', notifyUrl);
}

export interface MonitoringOptions {
  readonly prometheus: string;
  readonly alertmanager: string;
  /** `host:port` by job. */
  readonly targets: Readonly<Record<string, string>>;
  readonly pageUrl: string;
  readonly notifyUrl: string;
  /** Also how often rules are evaluated; the shipped configuration has 15 s. */
  readonly intervalMs: number;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Monitoring {
  /** Asks Prometheus now; a query that is not valid throws. */
  readonly query: (promql: string) => Promise<readonly Sample[]>;
  readonly alertmanagerUrl: string;
  readonly close: () => Promise<void>;
}

/** A real Prometheus with the shipped rules, and a real Alertmanager with the shipped routes, on loopback. */
export async function startMonitoring(options: MonitoringOptions): Promise<Monitoring> {
  const directory = mkdtempSync(join(tmpdir(), 'breakwater-monitoring-'));
  const guard = startGuard();
  const children: Child[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(children.map((child) => child.stop(10_000)));
    guard.close();
    rmSync(directory, { recursive: true, force: true });
  };
  const run = async (name: string, command: string, args: string[], readyUrl: string): Promise<void> => {
    const child = spawnChild({ name, command, args, env: { PATH: process.env['PATH'] }, guard, stage: 1 });
    children.push(child);
    const ready = await waitReady(child, () => probeHttp(readyUrl), 30_000);
    if (ready.kind !== 'ready') throw new Error(`${name} did not become ready:\n${child.tail().join('\n')}`);
  };
  try {
    const prometheus = await freePort();
    const alertmanager = await freePort();
    const files = writeConfiguration(directory, options, alertmanager);
    const listen = (port: number): string => `--web.listen-address=127.0.0.1:${port}`;
    await run(
      'alertmanager',
      options.alertmanager,
      [
        `--config.file=${files.alertmanager}`,
        `--storage.path=${join(directory, 'alerts')}`,
        '--cluster.listen-address=', // no peers: it would listen on every address
        listen(alertmanager),
      ],
      `http://127.0.0.1:${alertmanager}/-/ready`,
    );
    await run(
      'prometheus',
      options.prometheus,
      [
        `--config.file=${files.prometheus}`,
        `--storage.tsdb.path=${join(directory, 'series')}`,
        listen(prometheus),
      ],
      `http://127.0.0.1:${prometheus}/-/ready`,
    );
    return {
      query: (promql) => ask(prometheus, promql),
      alertmanagerUrl: `http://127.0.0.1:${alertmanager}`,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function writeConfiguration(
  directory: string,
  { targets, pageUrl, notifyUrl, intervalMs }: MonitoringOptions,
  alertmanagerPort: number,
): { readonly prometheus: string; readonly alertmanager: string } {
  mkdirSync(join(directory, 'alerts'));
  const prometheus = join(directory, 'prometheus.json'); // JSON is YAML
  const alertmanager = join(directory, 'alertmanager.yml');
  const interval = `${intervalMs}ms`;
  const scrapes = Object.entries(targets).map(([job, target]) => ({
    job_name: job,
    static_configs: [{ targets: [target] }],
  }));
  writeFileSync(
    prometheus,
    JSON.stringify({
      global: {
        scrape_interval: interval,
        scrape_timeout: interval,
        evaluation_interval: interval,
        external_labels: { console: 'http://127.0.0.1:8081' },
      },
      rule_files: [RULES_FILE],
      alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }] },
      scrape_configs: scrapes,
    }),
  );
  writeFileSync(alertmanager, renderAlertmanager(pageUrl, notifyUrl));
  return { prometheus, alertmanager };
}

async function ask(port: number, promql: string): Promise<readonly Sample[]> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(promql)}`);
  const answer = (await response.json()) as {
    error?: string;
    data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  if (!answer.data) throw new Error(`${promql}: ${answer.error}`);
  return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}
