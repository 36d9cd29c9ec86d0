import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Delivery } from '@breakwater/contracts/delivery';
import { newId } from '@breakwater/contracts/ids';
import { createAcceptor } from '@breakwater/core/accept';
import { addEndpoint } from '@breakwater/core/endpoints';
import type { Guard } from '@breakwater/local-stack/guard';
import { type Child, spawnChild } from '@breakwater/local-stack/processes';
import { parseConfig } from '@breakwater/runtime/config';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { readDeliveries } from '@breakwater/store/deliveries';
import { createKeyspace } from '@breakwater/store/keys';
import { scriptText } from '@breakwater/store/script';
import { createSecretBox } from '@breakwater/store/secret-box';
import { freePort } from './free-port.ts';
import { waitUntil } from './wait-until.ts';

const root = join(import.meta.dirname, '../..');
const KEY = Buffer.alloc(32, 1).toString('base64');
const CONFIG = `
deliveries: { retrySchedule: [0s, 1s, 1s, 1s, 1s, 1s] }
egress: { allowHttp: true, allow: [127.0.0.0/8] }
encryptionKeys: ${KEY}
`;

/** Recognises a call of one of the store's scripts by its hash; startStepRig has loaded them. */
export function scriptCall(name: StepScript): (sent: string) => boolean {
  const sha = createHash('sha1')
    .update(scriptText(name, { prelude: true }))
    .digest('hex');
  return (sent) => sent.includes(sha);
}
const STEP_SCRIPTS = ['record-event', 'begin-attempt', 'end-attempt'] as const;
type StepScript = (typeof STEP_SCRIPTS)[number];

/** A deployment of dispatchers alone in a key space of its own, and a receiver that counts. */
export async function startStepRig(redisUrl: string, guard: Guard, endpoints = 1) {
  const stack = new AsyncDisposableStack();
  const logger = createLogger({ service: 'test', level: 'silent' });
  const keyPrefix = `step-${newId()}`;
  const keys = createKeyspace(keyPrefix);
  const redis = connectRedis(redisUrl, 'scripts', logger);
  stack.defer(() => closeRedis(redis));
  for (const name of STEP_SCRIPTS) await redis.script('LOAD', scriptText(name, { prelude: true }));
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-step-'));
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'breakwater.config.yaml');
  writeFileSync(path, CONFIG);
  const config = parseConfig(CONFIG, {});

  const requests: { delivery: string; attempt: string }[] = [];
  const unanswered: ServerResponse[] = [];
  let answering = true;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const of = (name: string): string => String(request.headers[name]);
      requests.push({ delivery: of('breakwater-delivery'), attempt: of('breakwater-attempt') });
      if (answering) response.end('ok');
      else unanswered.push(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (let index = 0; index < endpoints; index += 1)
    await addEndpoint(
      { redis, keys, config, secrets: createSecretBox([KEY]) },
      { operator: 'default', url, types: ['*'], sources: [], description: '', body: 'envelope' },
      'test',
    );
  const children: Child[] = [];
  stack.defer(async () => void (await Promise.all(children.map((child) => child.kill()))));
  return {
    redis,
    keys,
    requests,
    /** The receiver answers nothing until it is told to; what waits then is answered. */
    answer(now: boolean) {
      answering = now;
      if (now) for (const response of unanswered.splice(0)) response.end('ok');
    },
    async dispatcher(throughUrl = redisUrl): Promise<Child> {
      const child = spawnChild({
        name: 'dispatcher',
        command: process.execPath,
        args: [join(root, 'services/dispatcher/src/main.ts')],
        env: {
          PATH: process.env['PATH'],
          REDIS_URL: throughUrl,
          KEY_PREFIX: keyPrefix,
          BREAKWATER_CONFIG: path,
          LOG_LEVEL: 'debug',
          OPS_PORT: String(await freePort()),
          NODE_COMPILE_CACHE: join(tmpdir(), 'breakwater-compile-cache'),
        },
        guard,
        stage: 1,
      });
      children.push(child);
      return child;
    },
    async accept(eventId = 'e'): Promise<void> {
      const acceptor = createAcceptor({
        redisUrl,
        keyPrefix,
        durability: 'strict',
        ingest: config.ingest,
        logger,
      });
      stack.defer(() => acceptor.close());
      await waitUntil(() => acceptor.notReady().length === 0, { what: 'the acceptor', timeoutMs: 30_000 });
      const result = await acceptor.accept({
        operator: 'default',
        source: 'shop',
        eventId,
        type: 't',
        entity: '',
        contentType: 'application/json',
        bytes: Buffer.from('{}'),
        receivedAt: Date.now(),
      });
      if (result.kind !== 'accepted') throw new Error(result.kind);
    },
    /** The dead process' leases and locks run out now instead of in 15 s. */
    async timePasses(): Promise<void> {
      for (const key of await redis.keys(`${keys.prefix}delivery:*`))
        if ((await redis.hexists(key, 'run')) === 1) await redis.hset(key, 'runUntil', 1);
      for (const alarm of await redis.zrange(keys.alarms('deliveries'), 0, '-1'))
        await redis.zadd(keys.alarms('deliveries'), 'XX', 1, alarm);
      const locks = await redis.keys(`${keys.prefix}*:lock`);
      if (locks.length > 0) await redis.del(...locks);
    },
    async deliveries(): Promise<Delivery[]> {
      const names = await redis.keys(`${keys.prefix}delivery:*`);
      return readDeliveries(
        redis,
        keys,
        names.map((name) => name.slice(`${keys.prefix}delivery:`.length)),
      );
    },
    /** Jobs of both queues and armed alarms: what could still make anybody do anything. */
    async leftToDo(): Promise<number> {
      const lists = await Promise.all(
        ['events', 'deliveries'].flatMap((queue) =>
          ['wait', 'active'].map((state) => redis.llen(`${keys.queues}:${queue}:${state}`)),
        ),
      );
      const sets = await Promise.all([
        redis.zcard(keys.alarms('deliveries')),
        ...['events', 'deliveries'].flatMap((queue) =>
          ['delayed', 'prioritized', 'failed'].map((state) =>
            redis.zcard(`${keys.queues}:${queue}:${state}`),
          ),
        ),
      ]);
      return [...lists, ...sets].reduce((sum, each) => sum + each, 0);
    },
    /** Runs before the rig is closed. */
    defer: (close: () => Promise<void>) => stack.defer(close),
    close: () => stack.disposeAsync(),
  };
}
export type StepRig = Awaited<ReturnType<typeof startStepRig>>;
