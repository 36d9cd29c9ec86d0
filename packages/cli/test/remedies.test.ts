import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { CONFIG, createRig, type Rig } from './support.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.close());

const told = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> =>
  (await rig.cli(args, { env })).stderr;

test('an error may bring a remedy of its own, or none, in the place of its code’s', () => {
  expect(new AppError('not_found', 'm').remedy).toBe('Check the id and the operator.');
  expect(new AppError('not_found', 'm', { remedy: 'Look there.' }).remedy).toBe('Look there.');
  expect(new AppError('not_found', 'm', { remedy: '' }).remedy).toBe('');
});

test('an error without words is told by its code', () => {
  expect(messageOf(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
});

test('an ERP target that is not configured is answered with those that are, and nothing about ids', async () => {
  expect(await told(['breaker', 'show', 'nope'])).toBe(
    'error: No ERP target is called nope. Configured: receipts.\n',
  );
});

test('what is no URL is told so; that an address is private is another mistake', async () => {
  const { code, stderr } = await rig.cli(['endpoints', 'add', '--url', 'notaurl']);
  expect(code).toBe(2);
  expect(stderr).toContain("'notaurl' is invalid. Expected a URL such as https://partner.example/hook.");
  expect(stderr).not.toContain('egress');
  expect(await told(['endpoints', 'add', '--url', 'https://10.0.0.1/'])).toContain('egress.allow');
  await using strict = await createRig(CONFIG.replace('allowHttp: true', 'allowHttp: false'));
  const http = await strict.cli(['endpoints', 'add', '--url', 'http://127.0.0.1:1/']);
  expect(http.stderr).toContain('egress.allowHttp');
});

test('a configuration that is not there is told once, with how to name another', async () => {
  const stderr = await told(['config', 'check', '--config', '/nonexistent.yaml']);
  expect(stderr).toMatch(/^error: .*\/nonexistent\.yaml.*BREAKWATER_CONFIG\.\n$/);
});

test('a configuration that is not valid ends with its mistakes', async () => {
  await using wrong = await createRig();
  writeFileSync(wrong.env.BREAKWATER_CONFIG, 'routes: 7');
  const { stderr } = await wrong.cli(['config', 'check']);
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/at routes$/);
});

test('an environment variable is answered in words that name what it takes', async () => {
  for (const [env, expected] of [
    [{ SHUTDOWN_TIMEOUT_MS: 'x' }, 'expected a whole number from 1000 to 600000'],
    [{ PORT: '80.5' }, 'expected a whole number from 0 to 65535'],
    [{ OPS_PORT: '70000' }, 'expected a whole number from 0 to 65535'],
    [{ KEY_PREFIX: 'a:b' }, 'expected 1 to 64 letters, digits, - and _'],
    [{ LOG_PRETTY: 'perhaps' }, 'expected true or false'],
  ] as const) {
    const stderr = await told(['endpoints', 'list'], env);
    expect(stderr).toContain(`✖ ${expected}\n  → at ${Object.keys(env)[0]}`);
    expect(stderr).not.toContain('NaN');
  }
});

test('a request that is not valid ends with what is wrong with it', async () => {
  expect(await told(['dead-letters', 'replay', '--reason', 'x'])).toBe(
    'error: Name the deliveries, choose by filters, or say --all.\n',
  );
});

test('Redis that is away is told with one remedy', async () => {
  expect(await told(['endpoints', 'list', '--redis-url', 'redis://127.0.0.1:1'])).toBe(
    'error: Redis at redis://127.0.0.1:1 is not reachable: connect ECONNREFUSED 127.0.0.1:1.\nStart it (npm start), or correct REDIS_URL.\n',
  );
});

test('options that npm kept for itself do not turn a rehearsal into the real thing', async () => {
  for (const env of [{ npm_config_dry_run: 'true' }, { npm_config_operator: 'other' }]) {
    const { code, stderr } = await rig.cli(['breaker', 'open', 'receipts'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('npm run cli -- breaker open receipts');
  }
  expect(await rig.audit()).toEqual([]);
  expect(
    (await rig.cli(['endpoints', 'list', '--operator', 'a'], { env: { npm_config_operator: 'other' } })).code,
  ).toBe(0);
});
