import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { debianTool } from '../support/debian-tools.ts';
import { type Monitoring, startMonitoring } from '../support/monitoring.ts';
import { type Rig, startRig } from '../support/rig.ts';
import { startSubscriber, type Subscriber } from '../support/subscriber.ts';
import { testUnless } from '../support/test-unless.ts';
import { waitUntil } from '../support/wait-until.ts';

const DASHBOARDS = resolve(import.meta.dirname, '../../infra/grafana/dashboards');
const INTERVAL_MS = 1_000;

const prometheus = debianTool('prometheus');
const alertmanager = debianTool('prometheus-alertmanager');
const reason = [prometheus, alertmanager].flatMap((tool) => ('reason' in tool ? [tool.reason] : []))[0];
const testHere = testUnless(reason);

let rig: Rig;
let monitoring: Monitoring;
let page: Subscriber;
let notify: Subscriber;
const open: (() => Promise<void>)[] = [];

const valueOf = async (promql: string): Promise<number | undefined> =>
  (await monitoring.query(promql))[0]?.value;

beforeAll(async () => {
  if ('reason' in prometheus || 'reason' in alertmanager) return;
  rig = await startRig();
  open.push(() => rig.close());
  [page, notify] = [await startSubscriber(), await startSubscriber()];
  const orders = await startSubscriber();
  open.push(page.close, notify.close, orders.close);
  await rig.json('endpoints', 'add', '--url', orders.url, '--source', 'demo-payments');
  const services = ['ingest', 'dispatcher', 'erp-consumer', 'console'] as const;
  monitoring = await startMonitoring({
    prometheus: prometheus.path,
    alertmanager: alertmanager.path,
    targets: Object.fromEntries(services.map((service) => [service, new URL(rig.opsUrl(service)).host])),
    pageUrl: page.url,
    notifyUrl: notify.url,
    intervalMs: INTERVAL_MS,
  });
  open.push(() => monitoring.close());
  // Prometheus begins to scrape some seconds after its start; the storm must not be over by then.
  await waitUntil(async () => (await valueOf('count(up == 1)')) === services.length, {
    what: 'every service to be scraped',
    timeoutMs: 30_000,
  });
}, 120_000);
afterAll(async () => {
  for (const close of open.toReversed()) await close();
}, 60_000);

testHere(
  'after a storm Prometheus itself answers ratio 1, one posting per order and every other delivery deduped',
  async () => {
    await rig.json('storm', '--orders', '100', '--deliveries', '5000');
    // The ERP's documents are counted every 30 s.
    await waitUntil(async () => (await valueOf('breakwater_erp_documents')) === 100, {
      what: "the ERP's own 100 documents in Prometheus",
      timeoutMs: 60_000,
    });
    expect(await valueOf('breakwater_side_effect_ratio{target="receipts"}')).toBe(1);
    expect(await valueOf('breakwater_ledger_erp_postings_total{target="receipts"}')).toBe(100);
    expect(await valueOf('sum(breakwater_webhooks_received_total{outcome="deduped"})')).toBe(4_900);
    expect(await monitoring.query('ALERTS{alertstate="firing"}')).toEqual([]);
  },
  150_000,
);

testHere(
  'every panel of every dashboard shows data after a storm',
  async () => {
    const panels = readdirSync(DASHBOARDS).flatMap((file) => {
      const { title, panels: all } = JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')) as {
        title: string;
        panels: { title: string; targets: { expr: string }[] }[];
      };
      return all.flatMap((panel) =>
        panel.targets.map(({ expr }) => ({ name: `${title}: ${panel.title}`, expr })),
      );
    });
    expect(panels.length).toBeGreaterThan(25);
    const empty = new Set(panels);
    await waitUntil(
      async () => {
        for (const panel of empty)
          if ((await monitoring.query(panel.expr)).some(({ value }) => !Number.isNaN(value)))
            empty.delete(panel);
        expect([...empty]).toEqual([]);
        return true;
      },
      { what: 'data in every panel', timeoutMs: 30_000 },
    );
  },
  60_000,
);

testHere(
  'a document that appears behind our back pages the owner of the target, with the command that names it',
  async () => {
    const [receipt] = (
      (await (await fetch(`${rig.simulatorUrl}/api/receipts`)).json()) as {
        receipts: Record<string, unknown>[];
      }
    ).receipts;
    const { external_reference, order_id, warehouse, lines } = receipt ?? {};
    const posted = await fetch(`${rig.simulatorUrl}/api/receipts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ external_reference, order_id, warehouse, lines }),
    });
    expect(posted.status).toBe(201);
    const delivered = await waitUntil(
      () => page.received.find(({ body }) => body.includes('SideEffectsDiverge')),
      {
        what: 'the page',
        timeoutMs: 90_000,
      },
    );
    const { alerts } = JSON.parse(delivered.body) as {
      alerts: { status: string; labels: Record<string, string>; annotations: Record<string, string> }[];
    };
    expect(alerts).toMatchObject([
      {
        status: 'firing',
        labels: {
          alertname: 'SideEffectsDiverge',
          direction: 'above',
          target: 'receipts',
          owner: 'integration',
        },
      },
    ]);
    expect(alerts[0]?.annotations['description']).toContain('breakwater reconcile --target receipts');
    expect(notify.received.filter(({ body }) => body.includes('SideEffectsDiverge'))).toEqual([]);
    // Two evaluations at most between the figure and the alert.
    const sinceFigure = await valueOf(
      `count_over_time((breakwater_side_effect_ratio > 1)[2m:${INTERVAL_MS}ms]) - on() count_over_time(ALERTS{alertname="SideEffectsDiverge"}[2m:${INTERVAL_MS}ms])`,
    );
    expect(sinceFigure).toBeLessThanOrEqual(2);
  },
  150_000,
);
