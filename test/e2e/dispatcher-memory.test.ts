import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createAcceptor } from '@breakwater/core/accept';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { createLogger } from '@breakwater/runtime/logger';
import { startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';

/** What node takes in a container of 512 MiB, as the compose file gives it. */
const HEAP_MIB = 256;
/** The largest body that a source can be allowed to take. */
const MAX_BODY_BYTES = 25 * 1_048_576;
const LARGE = 2;
const ENDPOINTS = 2;

/** Two bytes as text, more than fifty as an object. */
function fullOfObjects(nth: number): Buffer {
  const [head, tail] = [`{"nth":${nth},"lines":[`, '{}]}'];
  return Buffer.from(
    head + '{},'.repeat(Math.floor((MAX_BODY_BYTES - head.length - tail.length) / 3)) + tail,
  );
}

test('the largest events, full of small objects, end no dispatcher: all are delivered, and ordinary ones meanwhile', async () => {
  await using stack = new AsyncDisposableStack();
  const received: number[] = [];
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => {
      received.push(bytes);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const rig = await startRig({ services: [], env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  stack.defer(() => rig.close());
  for (let nth = 0; nth < ENDPOINTS; nth += 1) {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${nth}`;
    await rig.json('endpoints', 'add', '--url', url, '--reference', 'source', '--timeout', '30s');
  }
  const acceptor = createAcceptor({
    redisUrl: rig.redis.url,
    keyPrefix: 'bw',
    durability: 'relaxed',
    ingest: BreakwaterConfig.parse({}).ingest,
    logger: createLogger({ service: 'test', level: 'silent' }),
  });
  stack.defer(() => acceptor.close());
  await waitUntil(() => acceptor.notReady().length === 0, { what: 'the acceptor', timeoutMs: 30_000 });
  const accept = async (eventId: string, bytes: Buffer): Promise<void> =>
    void (await waitUntil(
      async () => {
        const answer = await acceptor.accept({
          operator: 'default',
          source: 'demo-payments',
          eventId,
          type: 'large',
          entity: '',
          contentType: 'application/json',
          bytes,
          receivedAt: Date.now(),
        });
        return answer.kind === 'accepted' || answer.kind === 'duplicate';
      },
      { what: `${eventId} to be accepted`, timeoutMs: 60_000 },
    ));
  // All of them are there before a dispatcher is, as after an outage of all dispatchers.
  for (let nth = 0; nth < LARGE; nth += 1) await accept(`large-${nth}`, fullOfObjects(nth));
  await accept('small', Buffer.from('{"nth":"small"}'));
  await rig.start('dispatcher');
  const alive = (): boolean => existsSync(join('/proc', String(rig.pid('dispatcher'))));
  const outcome = await waitUntil(
    () => (received.length >= (LARGE + 1) * ENDPOINTS ? 'delivered' : !alive() && 'the dispatcher ended'),
    { what: 'every event to be delivered', timeoutMs: 120_000 },
  );
  expect({ outcome, log: alive() ? [] : rig.log('dispatcher') }).toEqual({ outcome: 'delivered', log: [] });
  expect(received.filter((bytes) => bytes > MAX_BODY_BYTES)).toHaveLength(LARGE * ENDPOINTS);
}, 240_000);
