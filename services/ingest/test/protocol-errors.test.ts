import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { connectRaw, type Rig, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

const BODY = '{"id":"evt_1"}';

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
  ['headers beyond all measure', `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
])(
  '%s is answered in the form of every other error, and the connection is closed',
  async (_, text, status) => {
    const { socket, until, closed } = await connectRaw(rig.port);
    socket.write(text);
    const answer = await until(/\}\}$/);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain('"code":"request_invalid"');
    await closed;
  },
);
