import { afterEach, expect, test } from '@jest/globals';
import { Counter, Gauge, Registry } from 'prom-client';
import { type OpsServer, startOpsServer } from '../src/ops-server.ts';

const servers: OpsServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(
  options: { registry?: Registry; notReady?: () => readonly string[] } = {},
): Promise<string> {
  const server = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    registry: options.registry ?? new Registry(),
    notReady: options.notReady ?? (() => []),
  });
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
}

test('a process that is not ready says why, is alive all the same, and is ready as soon as it is', async () => {
  let reasons: string[] = ['Redis is not reachable'];
  const url = await start({ notReady: () => reasons });
  const unready = await fetch(`${url}/readyz`);
  expect([unready.status, await unready.json()]).toEqual([503, { ok: false, reasons }]);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  reasons = [];
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { ok: true, reasons: [] }]);
});

test('metrics are served in the format that Prometheus reads', async () => {
  const registry = new Registry();
  new Counter({ name: 'breakwater_things_total', help: 'Things.', registers: [registry] }).inc(3);
  const response = await fetch(`${await start({ registry })}/metrics`);
  expect(response.headers.get('content-type')).toContain('text/plain');
  expect(await response.text()).toContain('breakwater_things_total 3');
});

test('a metric that cannot be collected is an answer with status 500, not a hanging scrape or a dead process', async () => {
  const registry = new Registry();
  const collect = (): never => {
    throw new Error('no Redis');
  };
  registry.registerMetric(new Gauge({ name: 'broken', help: 'Broken.', collect, registers: [] }));
  const url = await start({ registry });
  const response = await fetch(`${url}/metrics`);
  expect([response.status, await response.text()]).toEqual([
    500,
    'metrics could not be collected: no Redis\n',
  ]);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

test('a port that is taken is a sentence for a person', async () => {
  const url = await start();
  const again = startOpsServer({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    registry: new Registry(),
    notReady: () => [],
  });
  await expect(again).rejects.toMatchObject({
    code: 'port_taken',
    message: expect.stringContaining('already in use'),
  });
});

test('a closed ops server lets the process end although a scraper keeps its connection', async () => {
  const server = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    registry: new Registry(),
    notReady: () => [],
  });
  await (await fetch(`http://127.0.0.1:${server.port}/livez`)).text(); // fetch keeps the socket alive
  await server.close();
  await expect(fetch(`http://127.0.0.1:${server.port}/livez`)).rejects.toThrow('fetch failed');
});
