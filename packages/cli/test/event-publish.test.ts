import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { CONFIG, createRig, type CliRun, type Rig } from './support.ts';

let rig: Rig;
let server: Server;
let url: string;
let answer: { status: number; body: string } = { status: 202, body: '' };
const requests: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];

beforeAll(async () => {
  const others = '[{ id: a, value: token-a, operator: acme }, { id: b, value: token-b, operator: acme }]';
  rig = await createRig(`${CONFIG}publishToken: the-publish-token\npublishTokens: ${others}\n`);
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      requests.push({ path, headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(answer.status, { location: '/elsewhere' }).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => void requests.splice(0));
afterAll(async () => {
  await rig.close();
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
});

const taken = (deduped: boolean, eventId = 'e1') => ({
  status: 202,
  body: JSON.stringify({ ok: true, results: [{ eventId, deduped }] }),
});
const refused = (status: number, code: string) => ({
  status,
  body: JSON.stringify({ ok: false, error: { code, message: 'As ingest says.' } }),
});
const publish = (args: readonly string[], options: Parameters<Rig['cli']>[1] = {}): Promise<CliRun> =>
  rig.cli(['events', 'publish', '--id', 'e1', '--type', 't', '--url', url, ...args], options);

test('what is published carries the token, and data exactly as it was given', async () => {
  answer = taken(false);
  const data = '{ "price": 1.10, "big": 12345678901234567890 }';
  const { code, json } = await publish(['--data', data, '--occurred-at', '2026-01-31T12:00:00Z', '--json']);
  expect([code, json()]).toEqual([0, { ok: true, eventId: 'e1', deduped: false }]);
  expect(requests).toMatchObject([
    {
      path: '/v1/events',
      headers: { authorization: 'Bearer the-publish-token' },
      body: `{"id":"e1","type":"t","occurredAt":"2026-01-31T12:00:00Z","data":${data}}`,
    },
  ]);
});

test('data comes from a file or from stdin, too', async () => {
  answer = taken(false);
  const path = join(dirname(rig.env.BREAKWATER_CONFIG), 'data.json');
  writeFileSync(path, '\ufeff[1.10]\n');
  expect((await publish(['--data', `@${path}`])).code).toBe(0);
  expect((await publish(['--data', '-'], { stdin: ' "é" \n' })).code).toBe(0);
  expect(requests.map(({ body }) => body)).toEqual([
    '{"id":"e1","type":"t","data":[1.10]}',
    '{"id":"e1","type":"t","data":"é"}',
  ]);
});

test('an id that was published before is done already', async () => {
  answer = taken(true);
  const { code, stdout } = await publish(['--data', '1']);
  expect([code, stdout]).toEqual([0, 'e1 had been accepted before: nothing was done.\n']);
});

test('what cannot be an event is refused before anything is sent', async () => {
  for (const args of [
    ['--data', 'text'],
    ['--data', ''],
    ['--data', '@nowhere.json'],
    ['--data', '1,"id":"other"'],
    ['--data', '1', '--occurred-at', 'yesterday'],
    ['--data', '1', '--id', ''],
    ['--data', '1', '--url', 'nowhere'],
    [],
  ]) {
    const { code, stdout } = await publish(args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
  }
  expect((await publish(['--data', '@nowhere.json'])).stderr).toContain(
    '--data: there is no file nowhere.json',
  );
  const dryRun = await publish(['--data', '1', '--dry-run', '--json']);
  expect([dryRun.code, dryRun.json()]).toEqual([0, { dryRun: true, eventId: 'e1', url: `${url}/v1/events` }]);
  expect(requests).toEqual([]);
});

test("ingest's own error decides the exit code; an answer that is none of ingest's never passes for success", async () => {
  for (const [given, exitCode, code] of [
    [refused(503, 'unavailable'), 1, 'unavailable'],
    [refused(401, 'token_invalid'), 1, 'token_invalid'],
    [refused(400, 'request_invalid'), 2, 'request_invalid'],
    [refused(404, 'not_found'), 3, 'not_found'],
    [refused(500, 'toString'), 1, 'unavailable'],
    [{ status: 200, body: taken(false).body }, 1, 'unavailable'],
    [{ status: 202, body: '<html>' }, 1, 'unavailable'],
    [{ status: 202, body: '{"ok":true,"results":[]}' }, 1, 'unavailable'],
    [{ status: 307, body: '' }, 1, 'unavailable'],
  ] as const) {
    answer = given;
    const result = await publish(['--data', '1', '--json']);
    expect([given, result.code, result.stdout]).toEqual([given, exitCode, '']);
    expect(JSON.parse(result.stderr).error.code).toBe(code);
    expect(result.stderr).not.toContain('the-publish-token');
  }
  expect(requests.filter(({ path }) => path !== '/v1/events')).toEqual([]);
});

test('the operator decides which token is sent, the first that it has; without one nothing is', async () => {
  answer = taken(false);
  expect((await publish(['--data', '1', '--operator', 'acme'])).code).toBe(0);
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-a']);
  const none = await publish(['--data', '1', '--operator', 'nobody']);
  expect([none.code, none.stderr]).toEqual([
    1,
    expect.stringContaining('no publish token of the operator nobody'),
  ]);
  expect(requests).toHaveLength(1);
});

test('without ingest, or without a token, it says what to do', async () => {
  const gone = await publish(['--data', '1', '--url', 'http://127.0.0.1:9']);
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('publishing it again is safe')]);
  await using other = await createRig();
  const args = ['events', 'publish', '--id', 'e', '--type', 't', '--data', '1'];
  const none = await other.cli(args, { env: { INGEST_URL: url } });
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('Set PUBLISH_TOKEN')]);
  expect(requests).toEqual([]);
});
