import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pause } from '@breakwater/runtime/poll';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { demoSignature, orderPaid } from '../support/webhook.ts';

let rig: Rig;
beforeAll(async () => void (rig = await startRig({ schedule: '0s,1s,1s,2s,4s' })), 60_000);
afterAll(() => rig.close(), 60_000);

interface Answered {
  readonly eventId: string;
  readonly deduped: boolean;
}

/** Bytes of one signed request. */
function requestOf(id: string): Buffer {
  const body = JSON.stringify(orderPaid(id, { warehouse: `W${id.length % 7}` }));
  return Buffer.from(
    `POST /webhooks/demo-payments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Signature: ${demoSignature(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

/** The acknowledgements in what came back over one connection, which may end anywhere. */
const acknowledged = (text: string): Answered[] =>
  [...text.matchAll(/HTTP\/1\.1 200 OK\r\n[^{]*(\{"ok":true[^}]*\})/g)].map(
    ([, json = '']) => JSON.parse(json) as Answered,
  );

/** Sends requests in pieces over one connection, one after the other without waiting for answers. */
async function sendInPieces(
  ids: readonly string[],
  pieceBytes: number,
  onAnswer: () => void,
): Promise<Answered[]> {
  const bytes = Buffer.concat(ids.map(requestOf));
  const ended = Promise.withResolvers<void>();
  let text = '';
  const socket = connect(Number(new URL(rig.ingestUrl).port), '127.0.0.1');
  socket.on('data', (chunk: Buffer) => {
    const before = acknowledged(text).length;
    text += chunk.toString('latin1');
    const now = acknowledged(text).length;
    for (let count = before; count < now; count += 1) onAnswer();
    if (now === ids.length) socket.destroy();
  });
  socket.on('error', () => undefined); // the server is killed
  socket.on('close', ended.resolve);
  socket.setTimeout(10_000, () => socket.destroy());
  for (let at = 0; at < bytes.length && !socket.destroyed; at += pieceBytes) {
    socket.write(bytes.subarray(at, at + pieceBytes));
    await pause(1);
  }
  await ended.promise;
  return acknowledged(text);
}

/** As providers do: until it is acknowledged. */
const deliver = async (id: string, url = rig.ingestUrl): Promise<Answered> => {
  const body = JSON.stringify(orderPaid(id));
  return waitUntil(
    async () => {
      const response = await fetch(`${url}/webhooks/demo-payments`, {
        method: 'POST',
        body,
        headers: { 'x-signature': demoSignature(body) },
        signal: AbortSignal.timeout(5_000),
      }).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      return response?.status === 200 && text !== undefined && (JSON.parse(text) as Answered);
    },
    { what: `${id} to be acknowledged`, timeoutMs: 60_000, intervalMs: 100 },
  );
};

async function expectPostings(count: number): Promise<void> {
  await waitUntil(async () => (await rig.stats()).postings >= count, {
    what: `${count} postings`,
    timeoutMs: 90_000,
    intervalMs: 200,
  });
  expect(await rig.stats()).toEqual({ postings: count, distinctReferences: count, duplicates: 0 });
}

test('kill -9 of ingest in the middle of requests loses no acknowledged event and doubles none', async () => {
  const ids: string[] = [];
  const told = new Map<string, Answered>();
  for (let round = 0; round < 5; round += 1) {
    let answers = 0;
    const sending = Array.from({ length: 40 }, (_, socket) => {
      const own = Array.from({ length: 1 + (socket % 3) }, (__, index) => `c-${round}-${socket}-${index}`);
      ids.push(...own);
      return sendInPieces(own, 40 + ((socket * 37) % 400), () => (answers += 1));
    });
    // After some answers, while other requests are being read, accepted and answered.
    await waitUntil(() => answers >= 5 + round * 8, { what: 'some answers', intervalMs: 1 });
    await rig.kill('ingest');
    for (const each of (await Promise.all(sending)).flat()) {
      expect([each.eventId, told.has(each.eventId)]).toEqual([each.eventId, false]);
      told.set(each.eventId, each);
    }
    await rig.start('ingest');
  }
  expect(told.size).toBeGreaterThanOrEqual(5 + 13 + 21 + 29 + 37);
  expect(told.size).toBeLessThan(ids.length); // or no request was in the middle of anything
  // The provider repeats what was not acknowledged, and in a storm also what was.
  const queue = ids.values();
  const repeat = async (): Promise<void> => {
    for (const id of queue) {
      const { deduped } = await deliver(id);
      expect([id, deduped || !told.has(id)]).toEqual([id, true]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, repeat));
  await expectPostings(ids.length);
}, 180_000);

test('Redis that restarts under load, two replicas and the same ids at once: each id is accepted once', async () => {
  const before = (await rig.stats()).postings;
  const replica = await rig.addReplica('ingest');
  const ids = Array.from({ length: 150 }, (_, index) => `r-${index}`);
  const accepted = new Map<string, number>();
  const queue = ids.values();
  const work = async (): Promise<void> => {
    for (const id of queue) {
      const answers = await Promise.all(
        [rig.ingestUrl, replica.url, rig.ingestUrl, replica.url].map((url) => deliver(id, url)),
      );
      accepted.set(id, answers.filter(({ deduped }) => !deduped).length);
      await pause(20);
    }
  };
  const sending = Promise.all(Array.from({ length: 6 }, work));
  for (let round = 0; round < 3; round += 1) {
    await waitUntil(() => accepted.size >= (round + 1) * 25, {
      what: 'some to be accepted',
      timeoutMs: 60_000,
    });
    await (round === 1 ? rig.redis.stop() : rig.redis.kill());
    await rig.redis.restart();
  }
  await sending;
  // None where the answer to the one that was stored was lost with the connection.
  expect([...accepted].filter(([, times]) => times > 1)).toEqual([]);
  await replica.kill();
  await expectPostings(before + ids.length);
}, 180_000);
