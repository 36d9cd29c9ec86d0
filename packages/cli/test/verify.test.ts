import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CONFIG, createRig, type Rig } from './support.ts';

const MORE = `
  other:
    secrets: [{ id: theirs, value: other-secret }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: { pointer: /id }
  timed:
    secrets: [{ id: current, value: shop-secret }]
    auth:
      kind: signature
      algorithm: hmac-sha256
      signature: { header: x-signature, encoding: hex }
      timestamp: { header: x-time, unit: iso }
      signed: [timestamp, body]
    eventId: { pointer: /id }
  zipped:
    secrets: [{ id: current, value: shop-secret }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: { pointer: /id }
    request: { encodings: [gzip], signedBytes: decoded }
erpTargets:`;
const BODY = '{"id":"e-1","total":1.10}';
const sign = (body: string, secret = 'shop-secret'): string =>
  createHmac('sha256', secret).update(body).digest('hex');

let rig: Rig;
beforeAll(async () => {
  rig = await createRig(CONFIG.replace('\nerpTargets:', MORE));
});
afterAll(() => rig.close());

function file(name: string, content: string | Buffer): string {
  const path = `${rig.env.BREAKWATER_CONFIG}.${name}`;
  writeFileSync(path, content);
  return path;
}
/** Without Redis, as promised. */
const verify = (args: readonly string[], stdin = '') =>
  rig.cli(['verify', ...args], { redisUrl: 'redis://127.0.0.1:1', stdin });
const raw = (signature: string, body = BODY, eol = '\r\n'): string =>
  [`POST /webhooks/shop?a=1 HTTP/1.1`, 'Host: x', `X-Signature:  ${signature} `, '', body].join(eol);

test('a raw capture that ingest would take verifies offline and names the event', async () => {
  for (const eol of ['\r\n', '\n']) {
    const { code, json } = await verify([
      '--source',
      'shop',
      '--json',
      '--request',
      file('raw', raw(sign(BODY), BODY, eol)),
    ]);
    expect(code).toBe(0);
    expect(json()).toMatchObject({
      ok: true,
      kind: 'event',
      eventIds: ['e-1'],
      secretId: 'current',
      slips: [],
    });
  }
});

test('flags alone will do, and the body may come from stdin', async () => {
  const { code, stdout } = await verify(
    ['--source', 'shop', '--header', `X-Signature: ${sign(BODY)}`, '--body', '-'],
    BODY,
  );
  expect(code).toBe(0);
  expect(stdout).toContain('It verifies against shop with secret current: event e-1.');
});

test('what curl -v printed is read, its own notes left out', async () => {
  const lines = [
    '* Connected to x',
    '> POST /webhooks/shop HTTP/1.1',
    '> Host: x',
    `> x-signature: ${sign(BODY)}`,
    '> ',
    '* upload completely sent off',
    '< HTTP/1.1 401 Unauthorized',
    '<',
    '{"ok":false}',
  ];
  const request = file('curl', lines.join('\n'));
  expect((await verify(['--source', 'shop', '--request', request, '--body', file('body', BODY)])).code).toBe(
    0,
  );
  const inside = file('curl2', [...lines.slice(0, 5), BODY].join('\n'));
  expect((await verify(['--source', 'shop', '--request', inside])).code).toBe(0);
});

test('a capture with a newline too many is refused, and the newline is named', async () => {
  const { code, stdout, stderr } = await verify(
    ['--source', 'shop', '--request', '-'],
    raw(sign(BODY), `${BODY}\n`).replace('Host: x', `Content-Length: ${BODY.length}`),
  );
  expect(code).toBe(1);
  expect(stderr).toBe('');
  expect(stdout).toContain('It is refused (signature_invalid)');
  expect(stdout).toContain(
    `content-length says ${BODY.length} bytes, and the body here has ${BODY.length + 1}`,
  );
  expect(stdout).toContain('without the newline at the end of the body');
  expect(stdout).toContain(String.raw`"{\"id\":\"e-1\",\"total\":1.10}\n"`);
});

test('neither a secret nor an expected signature is printed, whatever failed', async () => {
  for (const signature of [sign(BODY, 'other-secret'), sign(BODY, 'unknown'), 'junk']) {
    for (const flags of [[], ['--json']]) {
      const { code, stdout, stderr } = await verify(
        ['--source', 'shop', '--request', '-', ...flags],
        raw(signature),
      );
      expect(code).toBe(1);
      expect(stdout + stderr).not.toMatch(/shop-secret|other-secret/);
      expect(stdout + stderr).not.toContain(sign(BODY));
    }
  }
});

test('--at judges by the time of receipt', async () => {
  const at = '2026-01-31T12:00:00Z';
  const args = [
    '--source',
    'timed',
    '--header',
    `x-time: ${at}`,
    '--header',
    `x-signature: ${sign(at + BODY)}`,
    '--body',
    file('body', BODY),
  ];
  const late = await verify(args);
  expect(late.code).toBe(1);
  expect(late.stdout).toContain(`it was signed at 2026-01-31T12:00:00.000Z`);
  expect((await verify([...args, '--at', '2026-01-31T12:01:00Z'])).code).toBe(0);
  expect((await verify([...args, '--at', '2026-01-31T12:01'])).code).toBe(2);
});

test('a compressed body is read as the source reads it', async () => {
  const args = [
    '--source',
    'zipped',
    '--header',
    `x-signature: ${sign(BODY)}`,
    '--header',
    'content-encoding: gzip',
    '--body',
  ];
  expect((await verify([...args, file('gz', gzipSync(BODY))])).code).toBe(0);
  expect((await verify([...args, file('body', BODY)])).code).toBe(2);
});

test('a right signature without an event id is refused as ingest refuses it', async () => {
  const { code, json } = await verify(
    ['--source', 'shop', '--json', '--request', '-'],
    raw(sign('{}'), '{}'),
  );
  expect(code).toBe(1);
  expect(json()).toMatchObject({
    ok: false,
    kind: 'refused',
    code: 'event_id_missing',
    checks: [{ result: 'passed' }],
  });
});

test('an unknown source is not found; a request that is none is a usage error that quotes nothing', async () => {
  const known = await verify(['--source', 'nowhere', '--request', '-'], raw('x'));
  expect(known.code).toBe(3);
  expect((await verify(['--source', '__proto__', '--request', '-'], raw('x'))).code).toBe(3);
  const junk = await verify(['--source', 'shop', '--request', '-'], 'POST / HTTP/1.1\npassword hunter2\n\n');
  expect(junk.code).toBe(2);
  expect(junk.stderr).toContain('Line 2');
  expect(junk.stderr).not.toContain('hunter2');
  expect((await verify(['--source', 'shop'])).code).toBe(2);
  const missing = await verify(['--source', 'shop', '--request', 'missing.http']);
  expect(missing.code).toBe(2);
  expect(missing.stderr).toContain(
    `--request: there is no file missing.http (looked for ${resolve('missing.http')})`,
  );
  expect((await verify(['--source', 'shop', '--request', tmpdir()])).stderr).toContain('is a directory');
});

test('a capture cannot give orders to the terminal', async () => {
  const body = '{"id":"\u009b31m"}';
  const { code, stdout } = await verify(['--source', 'shop', '--request', '-'], raw(sign(body), body));
  expect(code).toBe(0);
  expect(stdout).not.toContain('\u009b');
});
