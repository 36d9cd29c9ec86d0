import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  ACCEPTED,
  DUPLICATE,
  SECRET,
  events,
  runToEnd,
  secretOf,
  send,
  start,
  startProcess,
  temporaryInbox,
} from './support.ts';

const MINUTE_MS = 60_000;

test('a message is accepted once, and again as a duplicate', async () => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  expect(await send(port, 'evt-1')).toEqual(ACCEPTED);
  expect(await send(port, 'evt-1')).toEqual(DUPLICATE);
  expect(await send(port, 'evt-2')).toEqual(ACCEPTED);
  expect(await events(port)).toEqual([
    { id: 'evt-1', deliveries: 2 },
    { id: 'evt-2', deliveries: 1 },
  ]);
});

test('a retry is recognised by its id, whatever its timestamp, signature and body', async () => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  expect(await send(port, 'evt-1', { at: new Date(Date.now() - 2 * MINUTE_MS) })).toEqual(ACCEPTED);
  expect(await send(port, 'evt-1', { body: '{"other":true}' })).toEqual(DUPLICATE);
});

test('a message signed with another secret is refused and not remembered', async () => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  expect(await send(port, 'evt-1', { secret: secretOf('a wrong one') })).toMatchObject({ status: 401 });
  expect(await events(port)).toEqual([]);
  expect(await send(port, 'evt-1')).toEqual(ACCEPTED);
});

test.each([
  ['webhook-id', 'evt-2'],
  ['webhook-id', ''],
  ['webhook-timestamp', String(Math.floor(Date.now() / 1000) + 60)],
  ['webhook-timestamp', ''],
  ['webhook-timestamp', 'yesterday'],
  ['webhook-signature', ''],
  ['webhook-signature', 'v1'],
  ['webhook-signature', 'v1,'],
])('a message whose %s is changed to "%s" is refused', async (name, value) => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  expect(await send(port, 'evt-1', { headers: { [name]: value } })).toMatchObject({ status: 401 });
  expect(await events(port)).toEqual([]);
});

test.each([
  ['old', -6],
  ['far in the future', 6],
])('a well-signed message whose timestamp is %s is refused', async (_what, minutes) => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  const at = new Date(Date.now() + minutes * MINUTE_MS);
  expect(await send(port, 'evt-1', { at })).toMatchObject({ status: 401 });
  expect(await events(port)).toEqual([]);
});

test('during a rotation both secrets are accepted', async () => {
  const next = secretOf('the next secret');
  const { port } = await start({ inboxFile: await temporaryInbox(), secrets: [next, SECRET] });
  expect(await send(port, 'evt-1', { secret: SECRET })).toEqual(ACCEPTED);
  expect(await send(port, 'evt-2', { secret: next })).toEqual(ACCEPTED);
  expect(await send(port, 'evt-3', { secret: secretOf('neither') })).toMatchObject({ status: 401 });
});

test('the signature is checked over the bytes that came, not over what they mean', async () => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  expect(await send(port, 'evt-1', { body: '{ "amount":1.10,\r\n"note":"\\u00e9 é ☕ \u2028" }' })).toEqual(
    ACCEPTED,
  );
});

test.each(['{"half":', ''])('an authentic body %j that is no JSON is refused as malformed', async (body) => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  expect(await send(port, 'evt-1', { body })).toMatchObject({ status: 400 });
  expect(await events(port)).toEqual([]);
});

test('a body of one mebibyte is accepted, and of one byte more refused', async () => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  const body = JSON.stringify('x'.repeat(1024 * 1024 - 2));
  expect(await send(port, 'evt-1', { body })).toEqual(ACCEPTED);
  expect(await send(port, 'evt-2', { body: `${body} ` })).toMatchObject({ status: 413 });
});

test.each([
  ['announces', 'content-length: 500000000\r\n\r\n'],
  ['sends', `transfer-encoding: chunked\r\n\r\n100001\r\n${'x'.repeat(0x100001)}\r\n`],
])('who %s too large a body is refused before the body has ended', async (_what, rest) => {
  const { port } = await start({ inboxFile: await temporaryInbox() });
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`POST /webhooks HTTP/1.1\r\nhost: receiver\r\n${rest}`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
  socket.destroy();
});

test('without a secret the receiver does not start, and says which variable is missing', async () => {
  const { code, output } = await runToEnd({ WEBHOOK_SECRET: ' , ' });
  expect(code).toBe(1);
  expect(output).toContain('Set WEBHOOK_SECRET');
});

test('a taken port is reported in a sentence', async () => {
  const inboxFile = await temporaryInbox();
  const { port } = await start({ inboxFile });
  const { code, output } = await runToEnd({
    WEBHOOK_SECRET: SECRET,
    PORT: String(port),
    INBOX_FILE: `${inboxFile}.other`,
  });
  expect(code).toBe(1);
  expect(output).toBe(`Port ${port} is already in use: stop what uses it, or set PORT.\n`);
});

test('without INBOX_FILE messages are committed below .data, which is made', async () => {
  const cwd = dirname(await temporaryInbox());
  const { port } = await startProcess({ INBOX_FILE: '' }, `cd ${cwd}; exec "$0" "$@"`);
  expect(await send(port, 'evt-1')).toEqual(ACCEPTED);
  expect(await readFile(`${cwd}/.data/receiver/inbox.ndjson`, 'utf8')).toContain('"evt-1"');
});

test('a malformed secret is refused at the start without being shown', async () => {
  const starting = start({ inboxFile: await temporaryInbox(), secrets: ['whsec_§§§'] });
  await expect(starting).rejects.toThrow(/malformed(?!.*§)/);
});
