import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CONFIG, createRig, type Rig } from './support.ts';

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;
const DEAD_REDIS = 'redis://127.0.0.1:1';
let rig: Rig;
beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.close());

test('check needs no Redis and names what the file configures', async () => {
  const { code, json } = await rig.cli(['config', 'check', '--json'], { redisUrl: DEAD_REDIS });
  expect(code).toBe(0);
  expect(json()).toEqual({
    ok: true,
    path: rig.env.BREAKWATER_CONFIG,
    sources: ['shop'],
    erpTargets: ['receipts'],
    routes: 0,
    warnings: [{ target: 'receipts', warning: expect.stringContaining('unknown_outcome') }],
  });
});

test('check warns of an ERP that can neither be asked nor dedupes, and of no other', async () => {
  await using other = await createRig();
  const warned = async (config: string): Promise<string> => {
    writeFileSync(other.env.BREAKWATER_CONFIG, config);
    const { code, stdout } = await other.cli(['config', 'check']);
    expect(code).toBe(0);
    return stdout;
  };
  expect(await warned(CONFIG)).toContain('receipts: warning: this ERP can neither look a reference up');
  expect(
    await warned(CONFIG.replace('owner: integration', 'owner: integration\n    dedupes: true')),
  ).not.toContain('warning');
  const find = `find: { path: '"/receipts"', hits: answer }`;
  expect(await warned(CONFIG.replace(/( +)post: /, `$1${find}\n$1post: `))).not.toContain('warning');
});

test('check shows what is unverified about a preset, and a secret that is no key', async () => {
  await using other = await createRig();
  const klarna = 'sources:\n  klarna: { preset: klarna, secrets: [{ id: a, value: x }] }\n';
  writeFileSync(other.env.BREAKWATER_CONFIG, klarna);
  const shown = await other.cli(['config', 'check']);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('klarna: unverified: the signature is in hexadecimal');
  writeFileSync(other.env.BREAKWATER_CONFIG, klarna.replaceAll('klarna', 'adyen'));
  const wrong = await other.cli(['config', 'check']);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain('sources.adyen');
});

test('check lists every mistake at once, a mapping that does not compile included', async () => {
  await using wrong = await createRig();
  writeFileSync(
    wrong.env.BREAKWATER_CONFIG,
    CONFIG.replace('secrets: [', 'secretz: [')
      .replace('owner: integration', 'owner: ""')
      .replace(`document: '{`, `document: '{{`),
  );
  const shape = await wrong.cli(['config', 'check']);
  expect(shape.code).toBe(1);
  expect(shape.stderr).toContain('secretz');
  expect(shape.stderr).toContain('erpTargets.receipts.owner');

  expect(shape.stderr).toContain('erpTargets.receipts.document');

  const preset = 'sources:\n  adyen: { preset: adyen, secrets: [{ id: a, value: x }] }\n';
  writeFileSync(
    wrong.env.BREAKWATER_CONFIG,
    preset +
      CONFIG.replace(/sources:[^]*(?=erpTargets)/, '').replace(
        'kind: http',
        'kind: http\n      headers: { host: a }',
      ),
  );
  const built = await wrong.cli(['config', 'check', '--json']);
  expect(built.code).toBe(1);
  const { code, message } = JSON.parse(built.stderr).error;
  expect(code).toBe('config_invalid');
  expect(message).toContain('sources.adyen');
  expect(message).toContain('erpTargets.receipts.adapter.headers.host');
});

test('--config wins over the environment', async () => {
  const { code, stderr } = await rig.cli(['--config', '/nonexistent.yaml', 'config', 'check']);
  expect(code).toBe(1);
  expect(stderr).toContain('/nonexistent.yaml');
});

test('a broken configuration does not keep anybody from looking', async () => {
  await using wrong = await createRig();
  writeFileSync(wrong.env.BREAKWATER_CONFIG, 'routes: 7');
  expect((await wrong.cli(['deliveries', 'list'])).code).toBe(0);
  expect((await wrong.cli(['endpoints', 'list'])).code).toBe(0);
});

test('the schema describes what a person writes, and is the same with and without --json', async () => {
  const { json, stdout } = await rig.cli(['config', 'schema', '--json'], { redisUrl: DEAD_REDIS });
  const { sources, erpTargets } = json().properties;
  expect(json().$schema).toContain('json-schema.org');
  expect(sources).toBeDefined();
  expect(JSON.stringify(erpTargets)).toContain('reference');
  // A duration is text in the file, a number only after it was read.
  expect(JSON.stringify(json().properties.deliveries.properties.timeout)).toContain('"string"');
  expect((await rig.cli(['config', 'schema'])).stdout).toBe(stdout);
});

test('the real process prints one document on stdout, nothing on stderr, and ends', async () => {
  const env = { ...process.env, ...rig.env };
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [MAIN, 'breaker', 'show', '--json'],
    { env },
  );
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({ breakers: [{ target: 'receipts', state: 'closed' }] });
  const failed = await promisify(execFile)(process.execPath, [MAIN, 'deliveries', 'show', 'nothing'], {
    env,
  }).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('No delivery nothing belongs to operator default.'),
  });
});
