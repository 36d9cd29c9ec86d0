import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { debianTool } from '../support/debian-tools.ts';
import { type Monitoring, renderAlertmanager, startMonitoring } from '../support/monitoring.ts';
import { startSubscriber } from '../support/subscriber.ts';
import { testUnless } from '../support/test-unless.ts';
import { waitUntil } from '../support/wait-until.ts';

const tools = [debianTool('amtool'), debianTool('prometheus'), debianTool('prometheus-alertmanager')];
const [amtool, prometheus, alertmanager] = tools.map((tool) => ('path' in tool ? tool.path : ''));
const testHere = testUnless(tools.flatMap((tool) => ('reason' in tool ? [tool.reason] : []))[0]);

const directory = mkdtempSync(join(tmpdir(), 'breakwater-alertmanager-'));
const file = join(directory, 'alertmanager.yml');
beforeAll(() =>
  writeFileSync(file, renderAlertmanager('http://127.0.0.1:9/page', 'http://127.0.0.1:9/notify')),
);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const run = (...args: string[]): string => {
  const { stdout, stderr } = spawnSync(amtool!, args, { encoding: 'utf8' });
  return `${stdout}${stderr}`;
};

testHere('the configuration is one that Alertmanager takes', () => {
  expect(run('check-config', file)).toContain('SUCCESS');
});

/** What `start.sh` makes of the environment: the addresses in the configuration, and what it says. */
function started(env: Record<string, string>): { urls: string[]; says: string } {
  const made = join(directory, 'started.yml');
  const here = (name: string): string =>
    fileURLToPath(new URL(`../../infra/alertmanager/${name}`, import.meta.url));
  const { status, stderr } = spawnSync('sh', [here('start.sh')], {
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'],
      ALERTMANAGER_TEMPLATE: here('alertmanager.yml'),
      ALERTMANAGER_CONFIG: made,
      ALERTMANAGER: 'true',
      ...env,
    },
  });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  const { receivers } = parse(readFileSync(made, 'utf8')) as {
    receivers: { webhook_configs?: { url: string }[] }[];
  };
  return {
    urls: receivers.flatMap((receiver) => receiver.webhook_configs ?? []).map(({ url }) => url),
    says: stderr,
  };
}

test('an address is put in as it is, whatever characters its secret has', () => {
  const page = String.raw`https://pager.example.com/x?sig=a&b=%20&c='d'\1#e: f`;
  const notify = 'https://chat.example.com/?key=1&token=2';
  expect(started({ PAGE_WEBHOOK_URL: page, NOTIFY_WEBHOOK_URL: notify }).urls).toEqual([page, notify]);
});

test('one address alone hears of everything, and with none that is said', () => {
  const [one, other] = ['https://a.example.com/?x=1&y=2', 'https://b.example.com/'];
  expect(started({ PAGE_WEBHOOK_URL: one }).urls).toEqual([one, one]);
  expect(started({ NOTIFY_WEBHOOK_URL: other }).urls).toEqual([other, other]);
  expect(started({})).toEqual({ urls: [], says: expect.stringContaining('nobody is paged') });
});

testHere('divergence goes to the owner of the integration, everything else to operations', () => {
  const route = (...labels: string[]): string =>
    run('config', 'routes', 'test', `--config.file=${file}`, ...labels).split('\n')[0] ?? '';
  expect(route('alertname=SideEffectsDiverge', 'severity=page', 'owner=integration')).toBe(
    'integration-owner',
  );
  expect(route('alertname=BreakerOpen', 'severity=notify', 'owner=integration')).toBe('operations');
  expect(route('alertname=ServiceDown', 'severity=notify', 'owner=operations')).toBe('operations');
});

testHere(
  'an ERP outage is one alert: what follows from it is inhibited, what does not is told',
  async () => {
    const hook = await startSubscriber();
    let monitoring: Monitoring | undefined;
    try {
      monitoring = await startMonitoring({
        prometheus: prometheus!,
        alertmanager: alertmanager!,
        targets: {},
        pageUrl: hook.url,
        notifyUrl: hook.url,
        intervalMs: 60_000,
      });
      const url = `${monitoring.alertmanagerUrl}/api/v2/alerts`;
      const alert = (alertname: string, labels: Record<string, string>): unknown => ({
        labels: { alertname, severity: 'notify', ...labels },
      });
      const posted = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([
          alert('BreakerOpen', { target: 'receipts' }),
          alert('DeadLetters', { target: 'receipts', destination: 'receipts' }),
          alert('DeadLetters', { target: 'invoices', destination: 'invoices' }),
          alert('PastDue', { queue: 'erp' }),
          alert('PastDue', { queue: 'deliveries' }),
          alert('SideEffectsDiverge', { target: 'receipts', severity: 'page' }),
          alert('ReconcileFindings', { target: 'receipts', severity: 'page' }),
        ]),
      });
      expect(posted.status).toBe(200);
      const told = new Set([
        'BreakerOpen receipts',
        'DeadLetters invoices',
        'PastDue deliveries',
        'SideEffectsDiverge receipts',
      ]);
      await waitUntil(
        async () => {
          const alerts = (await (await fetch(url)).json()) as {
            labels: Record<string, string>;
            status: { state: string };
          }[];
          const active = alerts.filter(({ status }) => status.state === 'active');
          const names = active.map(
            ({ labels }) => `${labels['alertname']} ${labels['target'] ?? labels['queue']}`,
          );
          expect([alerts.length, new Set(names)]).toEqual([7, told]);
          return true;
        },
        { what: 'the three that follow to be inhibited', timeoutMs: 30_000 },
      );
    } finally {
      await monitoring?.close();
      await hook.close();
    }
  },
  120_000,
);
