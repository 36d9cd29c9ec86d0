import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { newId } from '@breakwater/contracts/ids';
import { createAcceptor } from '@breakwater/core/accept';
import { addEndpoint } from '@breakwater/core/endpoints';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { readLedger } from '@breakwater/store/ledger';
import { createSecretBox } from '@breakwater/store/secret-box';
import { start as startDispatcher } from '../../services/dispatcher/src/app.ts';
import { waitUntil } from './wait-until.ts';

const KEY = Buffer.alloc(32, 1).toString('base64');
/** Of ten events the receiver sends one to the dead letters, and one is for nobody. */
const GONE = 3;
const UNWANTED = 7;
const AT_ONCE = 50;

/** BullMQ trims by nodes of a hundred entries. */
const STREAM_MAX = 1_200;

export interface Footprint {
  /** Names of the keys, without those of BullMQ that come and go. */
  readonly keys: readonly string[];
  /** What these keys take. */
  readonly dataBytes: number;
  readonly usedBytes: number;
}

export interface Soak {
  /** Accepts events and waits until all of them have been delivered, have ended and have left. */
  readonly wave: (events: number) => Promise<Footprint>;
  readonly redis: Redis;
  readonly ledger: () => ReturnType<typeof readLedger>;
  readonly close: () => Promise<void>;
}

/** A dispatcher, an acceptor and a receiver over real sockets, with a retention of seconds. */
export async function startSoak(redisUrl: string, retentionMs: number): Promise<Soak> {
  const stack = new AsyncDisposableStack();
  const logger = createLogger({ service: 'soak', level: 'silent' });
  const keyPrefix = `soak-${newId()}`;
  const keys = createKeyspace(keyPrefix);
  const redis = connectRedis(redisUrl, 'scripts', logger);
  stack.defer(() => closeRedis(redis));
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => response.writeHead(body.includes('"gone":true') ? 410 : 200).end('thanks'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const config = BreakwaterConfig.parse({
    retention: `${retentionMs}ms`,
    // On a busy machine an attempt may time out; a minute's wait would be the whole test.
    deliveries: { retrySchedule: ['0s', '200ms', '1s', '5s'] },
    egress: { allowHttp: true, allow: ['127.0.0.0/8'] },
    encryptionKeys: KEY,
  });
  await addEndpoint(
    { redis, keys, config, secrets: createSecretBox([KEY]) },
    {
      operator: 'default',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      types: ['wanted'],
      sources: [],
      description: '',
      body: 'envelope',
      maxInFlight: 100,
    },
    'soak',
  );
  await startDispatcher(
    {
      host: '127.0.0.1',
      port: 0,
      opsPort: 0,
      redisUrl,
      keyPrefix,
      durability: 'relaxed',
      shutdownTimeoutMs: 30_000,
      breakwater: config,
    },
    {
      logger,
      signal: new AbortController().signal,
      defer: (_label, close) => stack.defer(async () => void (await close())),
    },
  );
  const acceptor = createAcceptor({
    redisUrl,
    keyPrefix,
    durability: 'relaxed',
    // As long as the retention, which is the least that the configuration would let pass.
    ingest: { ...config.ingest, dedupe: retentionMs, rememberedIds: 0 },
    logger,
  });
  stack.defer(() => acceptor.close());
  await waitUntil(() => acceptor.notReady().length === 0, { what: 'the acceptor', timeoutMs: 30_000 });

  let sent = 0;
  const accept = async (until: number): Promise<void> => {
    while (sent < until) {
      const number = sent++;
      const result = await acceptor.accept({
        operator: 'default',
        source: 'shop',
        eventId: `event-${number}`,
        type: number % 10 === UNWANTED ? 'unwanted' : 'wanted',
        entity: '',
        contentType: 'application/json',
        bytes: Buffer.from(JSON.stringify({ gone: number % 10 === GONE, note: 'x'.repeat(500) })),
        receivedAt: Date.now(),
      });
      if (result.kind !== 'accepted') throw new Error(`event ${number}: ${result.kind}`);
    }
  };
  const accepted = async (): Promise<number> => (await readLedger(redis, keys)).accepted.get('shop') ?? 0;
  return {
    redis,
    ledger: () => readLedger(redis, keys),
    async wave(events) {
      const until = sent + events;
      await Promise.all(Array.from({ length: AT_ONCE }, () => accept(until)));
      const timeoutMs = 60_000 + events * 20;
      await waitUntil(async () => (await accepted()) === until, { what: 'all to be fanned out', timeoutMs });
      const left = [keys.retention, keys.shadows, keys.unrouted];
      await waitUntil(
        async () => (await Promise.all(left.map((key) => redis.zcard(key)))).every((size) => size === 0),
        { what: 'all to have left', timeoutMs, intervalMs: 200 },
      );
      // The claims are BullMQ's and end by themselves; Redis forgets them when it looks at them.
      await waitUntil(async () => !(await names(redis, keyPrefix)).some((name) => name.includes(':de:')), {
        what: 'the claims to end',
        timeoutMs,
        intervalMs: 200,
      });
      await minutePasses(redis, keyPrefix);
      return {
        keys: await names(redis, keyPrefix),
        dataBytes: await dataBytes(redis, keyPrefix),
        usedBytes: await usedBytes(redis),
      };
    },
    close: () => stack.disposeAsync(),
  };
}

/** Hand-offs are remembered for a minute, which is shorter than any retention but longer than this one. */
async function minutePasses(redis: Redis, keyPrefix: string): Promise<void> {
  for (const name of await redis.keys(`{${keyPrefix}:*handoff:*`)) {
    const leftMs = await redis.pttl(name);
    if (leftMs === -1 || leftMs > 60_000) throw new Error(`${name} stays for ${leftMs} ms`);
    await redis.del(name);
  }
}

const COME_AND_GO = /:(?:stalled-check|stalled|active|wait|marker|delayed|prioritized|pc)$/;

async function names(redis: Redis, keyPrefix: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, some] = await redis.scan(cursor, 'MATCH', `{${keyPrefix}:*`, 'COUNT', 1_000);
    for (const name of some) if (!COME_AND_GO.test(name)) found.add(name.slice(name.indexOf('}') + 2));
    cursor = next;
  } while (cursor !== '0');
  return [...found].toSorted();
}

/** What the remaining keys take. BullMQ's streams of events are bounded and not yet full: they are checked and emptied. */
async function dataBytes(redis: Redis, keyPrefix: string): Promise<number> {
  let sum = 0;
  for (const name of await redis.keys(`{${keyPrefix}:*`)) {
    if (name.endsWith(':events')) {
      const length = await redis.xlen(name);
      if (length > STREAM_MAX) throw new Error(`the stream ${name} has ${length} entries`);
      await redis.xtrim(name, 'MAXLEN', 0);
    }
    if (!COME_AND_GO.test(name)) sum += (await redis.memory('USAGE', name, 'SAMPLES', 0)) ?? 0;
  }
  return sum;
}

/** Of the whole server, buffers of its connections included. */
async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}
