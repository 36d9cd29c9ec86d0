import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createBodyBudget } from '../src/raw-body.ts';
import {
  call,
  codeOf,
  connectRaw,
  deliver,
  eventually,
  type Rig,
  sign,
  SIGNATURE,
  sourceWith,
  startIngest,
} from './support.ts';

const LIMIT = 64 * 1024;
const BODY = '{"id":"evt_1"}';

let rig: Rig;
beforeEach(async () => {
  rig = await startIngest({
    demo: sourceWith({ maxBodyBytes: LIMIT }),
    large: sourceWith({ maxBodyBytes: 25 * 1024 * 1024 }),
  });
});
afterEach(() => rig.close());

const head = (...lines: string[]): string =>
  ['POST /webhooks/demo HTTP/1.1', 'Host: x', ...lines, '', ''].join('\r\n');
const TOO_LARGE = /^HTTP\/1\.1 413 [^]*connection: close[^]*"code":"body_too_large"[^]*\}\}$/i;

test('a body of exactly the limit is taken, one byte more is not', async () => {
  const exact = JSON.stringify({ id: 'x'.repeat(10), pad: '' });
  const padded = (bytes: number): string =>
    exact.replace('"pad":""', `"pad":"${'p'.repeat(bytes - exact.length)}"`);
  expect((await deliver(rig.port, padded(LIMIT))).status).toBe(200);
  const over = await deliver(rig.port, padded(LIMIT + 1));
  expect([over.status, codeOf(over), over.headers.connection]).toEqual([413, 'body_too_large', 'close']);
});

test('a declared length over the limit is refused before a byte of the body has come', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.write(head('Content-Length: 500000000'));
  await until(TOO_LARGE);
  await closed; // and the server does not wait for the rest
  expect(rig.events).toEqual([]);
});

test('an oversized body in chunks is refused before it has been sent, and the connection is cut', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.write(head('Transfer-Encoding: chunked'));
  const chunk = `8000\r\n${'x'.repeat(0x80_00)}\r\n`;
  for (let sent = 0; sent <= LIMIT; sent += 0x80_00) socket.write(chunk);
  await until(TOO_LARGE); // the last chunk, which would end the body, was never sent
  await closed;
  expect(rig.events).toEqual([]);
});

test('a client that never stops sending is cut off', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.write(head('Transfer-Encoding: chunked'));
  const chunk = `8000\r\n${'x'.repeat(0x80_00)}\r\n`;
  const sending = setInterval(() => socket.destroyed || socket.write(chunk), 5);
  await until(TOO_LARGE);
  await closed;
  clearInterval(sending);
  expect(rig.events).toEqual([]);
});

test('a client that reads only when it has sent everything still gets its answer', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.pause();
  const sizeBytes = 12 * 1024 * 1024; // more than the kernel buffers, so somebody must take it
  socket.write(`${head(`Content-Length: ${sizeBytes}`)}${'x'.repeat(sizeBytes)}`);
  await eventually(() => socket.bytesWritten > sizeBytes && socket.writableLength === 0, 'all was sent');
  socket.resume();
  expect(await until(TOO_LARGE)).toMatch(TOO_LARGE);
  await closed;
});

test('a client that goes on sending for a moment after it was refused still gets its answer', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.pause();
  socket.write(head('Content-Length: 500000000'));
  for (let round = 0; round < 5; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.write('x'.repeat(1_000)); // to a connection that was reset, this fails, and the answer is lost
  }
  socket.resume();
  expect(await until(TOO_LARGE)).toMatch(TOO_LARGE);
  await closed;
});

test('a client that asks first is told about the limit instead of being asked for the body', async () => {
  const { socket, text, closed } = await connectRaw(rig.port);
  socket.write(head('Content-Length: 500000000', 'Expect: 100-continue'));
  await closed;
  expect(text()).toMatch(TOO_LARGE);
  expect(text()).not.toContain('100 Continue');
});

test('a client that asks first and may send is told to go on', async () => {
  const { socket, until } = await connectRaw(rig.port);
  socket.write(head(`Content-Length: ${BODY.length}`, 'Expect: 100-continue', `${SIGNATURE}: ${sign(BODY)}`));
  await until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  socket.write(BODY);
  await until(/HTTP\/1\.1 200 OK[^]*"eventId":"evt_1"/);
  socket.destroy();
  expect(rig.events).toHaveLength(1);
});

test('a client that asks first in its own way is told to go on, and an expectation nobody knows is no refusal', async () => {
  for (const [expectation, answered] of [
    ['100-Continue, 100-continue', /^HTTP\/1\.1 100 Continue\r\n/],
    ['miracles', /^$/],
  ] as const) {
    const { socket, until } = await connectRaw(rig.port);
    socket.write(
      `POST /webhooks/demo HTTP/1.1\r\nHost: x\r\nExpect: ${expectation}\r\n${SIGNATURE}: ${sign(BODY)}\r\nContent-Length: ${BODY.length}\r\n\r\n`,
    );
    await until(answered);
    socket.write(BODY);
    expect(await until(/\}$/)).toContain('HTTP/1.1 200 OK');
    socket.destroy();
  }
});

test('an upload to an unknown source is not read', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.write(head('Content-Length: 500000000').replace('demo', 'other'));
  await until(/^HTTP\/1\.1 404 [^]*connection: close[^]*"code":"source_unknown"/i);
  await closed;
  expect(rig.events).toEqual([]);
});

test('a gzip upload is refused without being read', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.write(head('Content-Length: 1000', 'Content-Encoding: gzip'));
  await until(/^HTTP\/1\.1 415 [^]*"code":"encoding_unsupported"/);
  await closed;
  expect(rig.events).toEqual([]);
});

test('a body that comes byte by byte is one body', async () => {
  const { socket, until } = await connectRaw(rig.port);
  socket.setNoDelay(true);
  const body = '{"id":"☕"}';
  socket.write(head(`Content-Length: ${Buffer.byteLength(body)}`, `${SIGNATURE}: ${sign(body)}`));
  for (const byte of Buffer.from(body)) {
    socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await until(/^HTTP\/1\.1 200 /);
  expect(rig.events).toMatchObject([{ eventId: '☕', bytes: Buffer.from(body) }]);
  socket.destroy();
});

test('several requests on one connection are answered in turn', async () => {
  const { socket, until } = await connectRaw(rig.port);
  const bodies = ['{"id":"a"}', '{"id":"b"}'];
  for (const body of bodies)
    socket.write(`${head(`Content-Length: ${body.length}`, `${SIGNATURE}: ${sign(body)}`)}${body}`);
  await until(/"eventId":"a"[^]*"eventId":"b"/);
  socket.destroy();
  expect(rig.events.map(({ eventId }) => eventId)).toEqual(['a', 'b']);
});

test('an upload that is given up accepts nothing and leaves nothing behind', async () => {
  const before = await rig.metrics();
  for (let round = 0; round < 3; round += 1) {
    const { socket } = await connectRaw(rig.port);
    socket.write(`${head('Content-Length: 1000')}{"id":`);
    await eventually(() => socket.bytesWritten > 0 && socket.writableLength === 0, 'the half was sent');
    socket.resetAndDestroy();
  }
  const connections = async (): Promise<number> =>
    new Promise((resolve) => rig.server.getConnections((_, count) => resolve(count)));
  await eventually(async () => (await connections()) === 0, 'every connection is gone');
  expect(rig.events).toEqual([]);
  const received = /^breakwater_webhooks_received_total.*$/gm;
  expect((await rig.metrics()).match(received)).toEqual(before.match(received));
});

test('the memory of all bodies together is bounded, and what was given up is free again', async () => {
  await rig.close();
  rig = await startIngest({ demo: sourceWith({ maxBodyBytes: LIMIT }) }, { maxBufferedBytes: 1_500 });
  const { socket, closed } = await connectRaw(rig.port);
  socket.write(`${head('Content-Length: 2000')}${'x'.repeat(1_000)}`);
  const filler = JSON.stringify({ id: 'evt_1', pad: 'p'.repeat(800) });
  let answer = await deliver(rig.port, filler);
  for (let tries = 0; answer.status === 200 && tries < 100; tries += 1)
    answer = await deliver(rig.port, filler);
  expect([answer.status, answer.headers['retry-after'], codeOf(answer)]).toEqual([503, '5', 'unavailable']);
  socket.resetAndDestroy();
  await closed;
  for (let tries = 0; answer.status === 503 && tries < 100; tries += 1)
    answer = await deliver(rig.port, filler);
  expect(answer.status).toBe(200);
  // Were a share never given back, the budget would run out.
  for (let round = 0; round < 5; round += 1) expect((await deliver(rig.port, filler)).status).toBe(200);
  for (let round = 0; round < 5; round += 1)
    expect((await call(rig.port, { body: filler })).status).toBe(401);
  expect((await deliver(rig.port, filler)).status).toBe(200);
});

test('a budget takes what fits and nothing else', () => {
  const budget = createBodyBudget(10);
  expect([budget.take(6), budget.take(5), budget.take(4), budget.held()]).toEqual([true, false, true, 10]);
  budget.give(10);
  expect([budget.held(), budget.take(10)]).toEqual([0, true]);
});

test('a source may take the 25 MiB of the largest provider', async () => {
  const body = JSON.stringify({ id: 'big', pad: 'p'.repeat(25 * 1024 * 1024 - 30) });
  const answer = await call(rig.port, {
    path: '/webhooks/large',
    body,
    headers: { [SIGNATURE]: sign(body) },
  });
  expect(answer.status).toBe(200);
  expect(rig.events[0]?.bytes.length).toBe(body.length);
});
