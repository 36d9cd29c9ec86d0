import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { opensslCurl, renderBanner, signedCurl } from '../src/banner.ts';
import { planServices, portsOf, readSettings } from '../src/settings.ts';

const root = '/repository';
const DEMO = { sources: ['demo-payments'] };

test('the ports are those of the documentation', () => {
  const settings = readSettings({}, root);
  expect(settings).toMatchObject({ dataDir: '/repository/.data', host: '127.0.0.1' });
  expect(portsOf(settings)).toEqual({
    redis: 6390,
    simulator: 8090,
    ingest: 8080,
    ingestOps: 9100,
    dispatcherOps: 9101,
    erpConsumerOps: 9102,
    console: 8081,
    consoleOps: 9103,
  });
});

test('a stack with an offset shares neither a port nor data with another one', () => {
  const one = readSettings({}, root);
  const other = readSettings({ PORT_OFFSET: '100' }, root);
  expect(other.dataDir).not.toBe(one.dataDir);
  const ports = (settings: typeof one) =>
    planServices(settings, {}, root).flatMap((service) => service.ports.map(({ port }) => port));
  expect(ports(other)).toEqual(ports(one).map((port) => port + 100));
  const [, ingest] = planServices(other, {}, root);
  expect(ingest?.env).toMatchObject({
    REDIS_URL: 'redis://127.0.0.1:6490',
    ERP_SIMULATOR_URL: 'http://127.0.0.1:8190',
    PORT: '8180',
    OPS_PORT: '9200',
  });
  expect(renderBanner(other, DEMO)).toContain('PORT_OFFSET=100 npm run storm');
});

test('what the caller exports for other programs does not move the services', () => {
  const env = {
    HOST: 'my-laptop',
    PORT: '3000',
    OPS_PORT: '3001',
    REDIS_URL: 'redis://elsewhere:6379',
    LOG_LEVEL: 'debug',
  };
  const services = planServices(readSettings(env, root), env, root);
  expect(services.map((service) => service.env['PORT'])).toEqual([
    '8090',
    '8080',
    undefined,
    undefined,
    '8081',
  ]);
  for (const service of services)
    expect(service.env).toMatchObject({
      HOST: '127.0.0.1',
      REDIS_URL: 'redis://127.0.0.1:6390',
      LOG_LEVEL: 'debug',
    });
});

test('a storm does not flood the terminal: services print warnings only, unless the caller wants more', () => {
  for (const service of planServices(readSettings({}, root), {}, root))
    expect(service.env['LOG_LEVEL']).toBe('warn');
  expect(renderBanner(readSettings({}, root), DEMO)).toContain('LOG_LEVEL=info');
});

test('services that listen everywhere are probed on this machine', () => {
  const env = { HOST: '0.0.0.0' };
  const services = planServices(readSettings(env, root), env, root);
  expect(services[1]?.env['HOST']).toBe('0.0.0.0');
  expect(services[1]?.readyUrl).toBe('http://127.0.0.1:9100/readyz');
});

test.each(['-1', '1e3', '56433', 'x'])('PORT_OFFSET=%s is refused with what was expected', (PORT_OFFSET) => {
  expect(() => readSettings({ PORT_OFFSET }, root)).toThrow('expected a number from 0 to');
});

/** Runs a command in sh with a curl that prints its arguments, one a line. */
function runWithFakeCurl(command: string, env: NodeJS.ProcessEnv = {}): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-curl-'));
  try {
    writeFileSync(join(dir, 'curl'), '#!/bin/sh\nfor arg in "$@"; do printf "%s\\n" "$arg"; done\n');
    chmodSync(join(dir, 'curl'), 0o755);
    const result = spawnSync('/bin/sh', ['-c', command], {
      encoding: 'utf8',
      env: { PATH: `${dir}:${process.env['PATH']}`, ...env },
    });
    expect(result.stderr).toBe('');
    return result.stdout.split('\n');
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const SAMPLE = {
  event_id: expect.stringMatching(/^evt_[\da-f-]+$/),
  type: 'order.paid',
  order_id: 'ord-1',
  warehouse: 'W1',
  lines: [{ sku: 'MILK-1L', quantity: 2 }],
};

/** The body among curl's arguments, and the header that its bytes must be sent with. */
function sent(args: readonly string[], secret: string): { readonly event: unknown; readonly header: string } {
  const body = args[args.indexOf('--data-binary') + 1] ?? '';
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return { event: JSON.parse(body), header: `x-signature: sha256=${signature}` };
}

test('the printed curl is signed for exactly the bytes that it sends', () => {
  const secret = 'it\'s "secret"';
  const args = runWithFakeCurl(signedCurl('http://127.0.0.1:8080/webhooks/demo-payments', secret));
  const { event, header } = sent(args, secret);
  expect(args[0]).toBe('http://127.0.0.1:8080/webhooks/demo-payments');
  expect(event).toEqual(SAMPLE);
  expect(args).toContain(header);
});

test.each([
  ['demo-webhook-secret', {}],
  ['of my own', { DEMO_WEBHOOK_SECRET: 'of my own' }],
])('the printed openssl line signs what it sends with the secret %s', (secret, env) => {
  const args = runWithFakeCurl(opensslCurl('http://x/'), env);
  const { event, header } = sent(args, secret);
  expect(event).toEqual(SAMPLE);
  expect(args).toContain(header);
});

test('a secret of the operator is never printed', () => {
  expect(renderBanner(readSettings({ DEMO_WEBHOOK_SECRET: 'of my own' }, root), DEMO)).not.toContain(
    'of my own',
  );
});

test('with a configuration of your own the banner names its sources, and prints no sample that it would refuse', () => {
  const banner = renderBanner(readSettings({ PORT_OFFSET: '100' }, root), {
    sources: ['github', 'stripe'],
    configFile: '/etc/own.yaml',
  });
  expect(banner).toContain('POST /webhooks/github, /webhooks/stripe');
  expect(banner).toContain('PORT_OFFSET=100 BREAKWATER_CONFIG=/etc/own.yaml npm run cli -- verify');
  expect(banner).not.toMatch(/demo-payments|npm run storm|curl/);
});
