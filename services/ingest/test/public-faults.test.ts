import { createHmac } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import {
  call,
  codeOf,
  connectRaw,
  deliver,
  type Rig,
  sign,
  SIGNATURE,
  sourceWith,
  startIngest,
} from './support.ts';

/* Faults that receivers of webhooks were publicly reported to have, with the inputs that showed them. */

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

async function start(source = sourceWith()): Promise<Rig> {
  rig = await startIngest({ demo: source });
  return rig;
}

test.each([
  ['an escape in upper case', String.raw`{"id":"1","n":1.0,"e":"\u001B"}`],
  ['text beyond ASCII', '{"id":"1","t":"☕"}'],
  ['a line separator as an escape', String.raw`{"id":"1","s":"\u2028"}`],
  ['a number that JavaScript writes in another way', '{"id":"1","amount":1.0}'],
  ['a number that JavaScript rounds', '{"id":"1","n":9007199254740993}'],
  ['an object that PHP makes a list', '{"id":"1","breakdown":{}}'],
  ['spaces that Python writes', '{"id": "1",  "num": 1.0}'],
  ['patterns of String.replace', '{"id":"1","price":"$$5 $& $\'"}'],
  ['a byte order mark', '\uFEFF{"id":"1"}'],
])('the bytes that arrived are verified and kept, never written again: %s', async (_, body) => {
  const { port, events } = await start();
  expect((await deliver(port, body)).status).toBe(200);
  expect(events[0]?.bytes).toEqual(Buffer.from(body));
});

test('a character that is cut in two by the network is one character', async () => {
  const { port, events } = await start();
  const body = Buffer.from('{"id":"1","t":"😊"}');
  const { socket, until } = await connectRaw(port);
  socket.setNoDelay(true);
  socket.write(
    `POST /webhooks/demo HTTP/1.1\r\nHost: x\r\n${SIGNATURE}: ${sign(body)}\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  const cut = body.indexOf(0xf0) + 2;
  socket.write(body.subarray(0, cut));
  await new Promise((resolve) => setTimeout(resolve, 20)); // a packet of its own
  socket.write(body.subarray(cut));
  expect(await until(/\}$/)).toMatch(/^HTTP\/1\.1 200 /);
  expect(events[0]?.bytes).toEqual(body);
  socket.destroy();
});

test.each([
  ['too short', 'abcd'],
  ['no hexadecimal of the right length', 'z'.repeat(64)],
  ['of two-byte characters', Buffer.from('é'.repeat(64)).toString('latin1')],
  ['empty', ''],
])(
  'a signature that cannot be one is 401, no error of the server, and the next request is answered: %s',
  async (_, text) => {
    const { port, events } = await start();
    const answer = await call(port, { body: '{"id":"1"}', headers: { [SIGNATURE]: `sha256=${text}` } });
    expect([answer.status, codeOf(answer)]).toEqual([401, 'signature_invalid']);
    expect((await deliver(port, '{"id":"1"}')).status).toBe(200);
    expect(events).toHaveLength(1);
  },
);

test('a push of 458 kB is taken where the provider sends such', async () => {
  const { port } = await start(Source.parse({ preset: 'github', secrets: [{ id: 'a', value: 'x' }] }));
  const body = JSON.stringify({ filling: 'x'.repeat(457_500) });
  const signature = `sha256=${createHmac('sha256', 'x').update(body).digest('hex')}`;
  const headers = { 'x-hub-signature-256': signature, 'x-github-delivery': 'd', 'x-github-event': 'push' };
  expect((await call(port, { body, headers })).status).toBe(200);
  const tooLarge = { ...headers, 'content-length': String(25 * 1024 * 1024 + 1), connection: 'close' };
  expect((await call(port, { headers: tooLarge })).status).toBe(413);
});

test('a secret with characters that a page would escape is the secret as it is', async () => {
  const { port } = await start(sourceWith({ secrets: [{ id: 'a', value: 'a&b' }] }));
  const body = '{"id":"1"}';
  expect((await call(port, { body, headers: { [SIGNATURE]: sign(body, 'a&b') } })).status).toBe(200);
  expect((await call(port, { body, headers: { [SIGNATURE]: sign(body, 'a&amp;b') } })).status).toBe(401);
});

test('an item of Adyen without a signature is refused with its delivery, and nothing breaks', async () => {
  const key = Buffer.alloc(32, 7);
  const item = (reference: string, isSigned: boolean) => ({
    NotificationRequestItem: {
      pspReference: reference,
      merchantAccountCode: 'm',
      merchantReference: '14-08 09:53:00', // its colons are signed as they are
      amount: { value: 1, currency: 'EUR' },
      eventCode: 'CAPTURE',
      success: 'true',
      ...(isSigned && {
        additionalData: {
          hmacSignature: createHmac('sha256', key)
            .update(`${reference}::m:14-08 09:53:00:1:EUR:CAPTURE:true`)
            .digest('base64'),
        },
      }),
    },
  });
  const { port, events } = await start(
    Source.parse({ preset: 'adyen', secrets: [{ id: 'a', value: key.toString('hex') }] }),
  );
  const send = (...items: object[]) => call(port, { body: JSON.stringify({ notificationItems: items }) });
  const refused = await send(item('a', true), item('b', false));
  expect([refused.status, codeOf(refused)]).toEqual([401, 'signature_missing']);
  expect(events).toEqual([]);
  expect((await send(item('a', true), item('b', true))).status).toBe(200);
  expect(events.map(({ eventId }) => eventId)).toEqual(['m:a:CAPTURE:true', 'm:b:CAPTURE:true']);
});

test('a provider that makes a new id, or a new time, for each emission is deduped by what names the fact', async () => {
  const eventId = { concat: [{ pointer: '/meeting/id' }, { pointer: '/status' }, { pointer: '/type' }] };
  const { port, events } = await start(sourceWith({ eventId }));
  for (const fresh of ['e1', 'e2'])
    await deliver(
      port,
      JSON.stringify({ event_id: fresh, createdAt: fresh, meeting: { id: 7 }, status: 'done', type: 'm' }),
    );
  expect(events.map((event) => event.eventId)).toEqual(['7:done:m', '7:done:m']);
});
