import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { loadConfig, parseConfig } from '../src/config.ts';
import { readEnvironment } from '../src/environment.ts';
import { AppError } from '../src/errors.ts';

const SOURCE = `
sources:
  shop:
    secrets: [{ id: current, value: "\${SHOP_SECRET}" }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: { pointer: /id }
`;

const TARGET = `
erpTargets:
  erp:
    owner: integration
    adapter: { kind: http, baseUrl: "http://erp.test", post: { path: '"/r"' } }
    document: "{}"
    retrySchedule: [0, 1h]
`;

function refusal(text: string, env: NodeJS.ProcessEnv = {}): string {
  try {
    parseConfig(text, env, 'breakwater.config.yaml');
  } catch (error) {
    if (error instanceof AppError && error.code === 'config_invalid') return error.message;
    throw error;
  }
  throw new Error('the configuration was taken');
}

const caught = (action: () => unknown): Error => {
  try {
    action();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
};

test('a secret comes from the environment, exactly as it is there', () => {
  for (const secret of ['s3cret', 'a: b # c', '${OTHER}', 'quo\'te"', '$&$1', 'two\nlines', '{}']) {
    const config = parseConfig(SOURCE, { SHOP_SECRET: secret, OTHER: 'must not appear' });
    expect(config.sources['shop']?.secrets[0]?.value).toBe(secret);
  }
});

/** Secrets in files of a directory; the test's end removes it. */
function secretFiles(files: Record<string, string | Buffer>): NodeJS.ProcessEnv {
  const directory = mkdtempSync(join(tmpdir(), 'breakwater-secrets-'));
  directories.push(directory);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  return { SECRETS_DIR: directory };
}
const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

test('a secret comes from its file in SECRETS_DIR, without what editors add at its ends; the environment goes first', () => {
  const read = (content: string | Buffer, env: NodeJS.ProcessEnv = {}): string | undefined =>
    parseConfig(SOURCE, { ...secretFiles({ SHOP_SECRET: content }), ...env }).sources['shop']?.secrets[0]
      ?.value;
  expect(read(' from a file\n')).toBe(' from a file');
  expect(read('from Windows\r\n\r\n')).toBe('from Windows');
  expect(read(Buffer.from('\uFEFFwith a mark\n'))).toBe('with a mark');
  expect(read('one\ntwo\n')).toBe('one\ntwo'); // a key in PEM has lines
  expect(read('from a file', { SHOP_SECRET: 'set' })).toBe('set');
});

test('where secrets are files, a missing one is named with every other, and a default that everybody knows does not stand in', () => {
  const env = { SECRETS_DIR: '/nowhere/secrets' };
  const message = refusal('publishToken: ${TOKEN:-demo}\nadminToken: ${ADMIN:-demo}', env);
  expect(message).toContain(
    'TOKEN is neither a file in /nowhere/secrets (SECRETS_DIR) nor set in the environment',
  );
  expect(message).toContain('→ at publishToken');
  expect(message).toContain('→ at adminToken');
});

test('secrets that are empty, unreadable or no text are told apart, all at once', () => {
  const env = secretFiles({ EMPTY: '\r\n', WIDE: Buffer.from('\uFEFFsecret', 'utf16le') });
  mkdirSync(join(String(env['SECRETS_DIR']), 'SHOP_SECRET'));
  const message = refusal(`${SOURCE}\nadminToken: \${EMPTY:-demo}\npublishToken: \${WIDE}`, env);
  expect(message).toMatch(
    /cannot read the secret .*SHOP_SECRET: EISDIR.*\n.*at sources.shop.secrets.0.value/,
  );
  expect(message).toMatch(/the secret .*EMPTY is empty\n.*at adminToken/);
  expect(message).toMatch(/the secret .*WIDE is not UTF-8 text.*\n.*at publishToken/);
});

test('a default stands in for a variable that is unset or empty', () => {
  const text = 'publishToken: ${TOKEN:-fallback}\nadminToken: "a-${A:-}-${B:-x}"';
  expect(parseConfig(text, {}).publishToken).toBe('fallback');
  expect(parseConfig(text, { TOKEN: '' }).publishToken).toBe('fallback');
  expect(parseConfig(text, { TOKEN: 'set', B: 'y' })).toMatchObject({
    publishToken: 'set',
    adminToken: 'a--y',
  });
});

test('every variable that is missing is named, not only the first, beside what else is wrong', () => {
  const message = refusal(
    `${SOURCE}\nadminToken: \${ADMIN}\npublishToken: "\${PUBLISH}"\ndeliveries: { timeout: 99s }`,
  );
  for (const part of [
    'breakwater.config.yaml',
    'SHOP_SECRET is not set',
    'ADMIN is not set',
    'PUBLISH is not set',
    'deliveries.timeout',
  ])
    expect(message).toContain(part);
});

test('text that is no YAML is refused with its place', () => {
  expect(refusal('sources: [\nroutes: }')).toMatch(/line \d+, column \d+/);
});

test('a comment may mention a variable that nobody sets', () => {
  expect(parseConfig('# ${NOT_SET}\nroutes: [] # ${NOR_THIS}', {}).routes).toEqual([]);
});

test('an empty file is an empty configuration', () => {
  expect(parseConfig('', {}).sources).toEqual({});
});

test('a refusal never shows the value of a secret', () => {
  expect(
    refusal(`${SOURCE}\nencryptionKeys: \${KEYS}\nadminToken: [1]`, {
      SHOP_SECRET: 'hush-hush',
      KEYS: 'c2VjcmV0LWtleQ==',
    }),
  ).not.toMatch(/hush-hush|c2VjcmV0/);
});

test('RETRY_SCHEDULE replaces the schedule of the deployment; a target with one of its own keeps it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-config-'));
  try {
    const path = join(dir, 'breakwater.config.yaml');
    writeFileSync(path, TARGET);
    const plain = loadConfig(readEnvironment({ BREAKWATER_CONFIG: path }), {});
    expect(plain.deliveries.retrySchedule).toHaveLength(6);
    expect(plain.erpTargets['erp']?.retrySchedule).toEqual([0, 3_600_000]);
    const short = loadConfig(readEnvironment({ BREAKWATER_CONFIG: path, RETRY_SCHEDULE: '0s,2s,3s' }), {});
    expect(short.deliveries.retrySchedule).toEqual([0, 2_000, 3_000]);
    expect(short.erpTargets['erp']?.retrySchedule).toEqual([0, 3_600_000]);
    expect(short.erpTargets['erp']?.owner).toBe('integration');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a syntax error shows its first causes, not everything that follows from them', () => {
  const text = `sources: [\n${'  a: b\n'.repeat(50)}`;
  const { message } = caught(() => parseConfig(text, {}));
  expect(message.match(/✖/g)?.length).toBeLessThanOrEqual(3);
  expect(message).toMatch(/more, which may follow from these/);
});

test('a variable that is not set is told once, at its place, and not again as a wrong value', () => {
  const { message } = caught(() => parseConfig(TARGET.replace('"http://erp.test"', '"${ERP_URL}"'), {}));
  expect(message).toContain('the environment variable ERP_URL is not set and has no default');
  expect(message).toContain('at erpTargets.erp.adapter.baseUrl');
  expect(message).not.toMatch(/Invalid URL/);
});

test('a file that is not there is refused with its name and the variable to set', () => {
  expect(() => loadConfig(readEnvironment({ BREAKWATER_CONFIG: 'nowhere.yaml' }), {})).toThrow(
    /nowhere\.yaml.*Set BREAKWATER_CONFIG/,
  );
});
