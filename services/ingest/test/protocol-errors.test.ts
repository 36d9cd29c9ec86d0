import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { connectRaw, type Rig, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

const BODY = '{"id":"evt_1"}';

const HEAD = `POST /webhooks/demo HTTP/1.1\r\nHost: x\r\n${SIGNATURE}: ${sign(BODY)}\r\n`;
const LENGTH = `Content-Length: ${BODY.length}\r\n`;

let rig: Rig;
beforeEach(async () => {
  rig = await startIngest({ demo: sourceWith() });
});
afterEach(() => rig.close());

test('a stray byte behind a complete request does not turn its acknowledgement into a refusal', async () => {
  const { socket, until, closed } = await connectRaw(rig.port);
  socket.write(
    [
      'POST /webhooks/demo HTTP/1.1',
      'Host: x',
      `${SIGNATURE}: ${sign(BODY)}`,
      `Content-Length: ${BODY.length}`,
      '',
      `${BODY}x`,
    ].join('\r\n'),
  );
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
