import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AcceptResult } from '@breakwater/core/accept';
import { connectRaw, eventually, type Rig, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

const BODY = '{"id":"evt_1"}';
const signed = (): string =>
  `POST /webhooks/demo HTTP/1.1\r\nHost: x\r\n${SIGNATURE}: ${sign(BODY)}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const HEAD = `POST /webhooks/demo HTTP/1.1\r\nHost: x\r\n${SIGNATURE}: ${sign(BODY)}\r\n`;
const LENGTH = `Content-Length: ${BODY.length}\r\n`;

let rig: Rig;
beforeEach(async () => {
  rig = await startIngest({ demo: sourceWith() });
});
afterEach(() => rig.close());

test('a stray byte behind a complete request does not turn its acknowledgement into a refusal', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.write(`${signed()}x`);
  expect(await until(/\}$/)).toMatch(/^HTTP\/1\.1 200 /);
  await closed;
  expect(rig.events).toHaveLength(1);
});

test.each([
  ['nonsense', 'NONSENSE\r\n\r\n', 400],
  ['a request whose length is told in two ways', `${HEAD}Transfer-Encoding: chunked\r\n${LENGTH}\r\n`, 400],
  ['a request with two lengths', `${HEAD}${LENGTH}Content-Length: 3\r\n\r\n`, 400],
  ['a header of several lines', `${HEAD}x: a\r\n b\r\n\r\n`, 400],
  ['a header with a NUL', `${HEAD}x: a\0b\r\n\r\n`, 400],
  ['thousands of headers', `${HEAD}${'x:\r\n'.repeat(5_000)}\r\n`, 431],
  ['headers beyond all measure', `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
])(
  '%s is answered in the form of every other error, and the connection is closed',
  async (_, text, status) => {
    const { socket, until, closed } = await connectRaw(rig.port);
    socket.write(text);
    const answer = await until(/\}\}$/);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain('"code":"request_invalid"');
    expect(rig.events).toEqual([]);
    await closed;
  },
);

test.each([
  ['nonsense', 'NONSENSE\r\n\r\n'],
  [
    'a broken chunk',
    `POST /webhooks/demo HTTP/1.1\r\nHost: x\r\n${SIGNATURE}: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
  ],
  [
    'two lengths',
    'POST /webhooks/demo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['headers beyond all measure', `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
])('%s behind complete requests does not take the place of their acknowledgements', async (_, broken) => {
  const slow = Promise.withResolvers<AcceptResult>();
  const own = await startIngest({ demo: sourceWith() }, { accept: () => slow.promise });
  try {
    const { socket, text, until, closed } = await connectRaw(own.port);
    socket.write(signed() + signed() + broken);
    await eventually(() => own.events.length === 2, 'both events to arrive');
    slow.resolve({ kind: 'accepted' });
    await until(/\}HTTP[^]*\}$/);
    await closed;
    expect(
      text()
        .match(/HTTP\/1\.1 \d+/g)
        ?.slice(0, 2),
    ).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  } finally {
    slow.resolve({ kind: 'accepted' });
    await own.close();
  }
});

test('nonsense behind answers that have gone out is answered too, and ends the connection', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  for (const answers of [1, 2, 3]) {
    socket.write(signed());
    await until(new RegExp(`^(?:HTTP/1\\.1 200 [^]*?\\}){${answers}}$`));
  }
  socket.write('NONSENSE\r\n\r\n');
  await until(/HTTP\/1\.1 400 [^]*\}\}$/);
  await closed;
});

test.each(['webhooks/demo', 'v1/events', 'nowhere'])(
  'a request for two hosts is refused, since what is in front may have gone by the other one: /%s',
  async (path) => {
    const { socket, until } = await connectRaw(rig.port);
    socket.write(signed().replace('webhooks/demo', path).replace('Host: x', 'Host: x\r\nhost: x'));
    const answer = await until(/\}\}$/);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('The header Host arrived more than once');
    expect(rig.events).toEqual([]);
    socket.destroy();
  },
);
