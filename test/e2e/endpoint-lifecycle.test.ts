import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, newId } from '@breakwater/contracts/ids';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { policyOf } from '@breakwater/store/policy';
import { Transitions } from '@breakwater/store/transitions';
import { Webhook } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';
import { type Rig, startRig } from '../support/rig.ts';
import { type Received, startSubscriber, type Subscriber } from '../support/subscriber.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

const keys = createKeyspace('bw');
let rig: Rig;
let redis: Redis;
const open: Subscriber[] = [];
beforeAll(async () => {
  rig = await startRig({ schedule: '0s,1s,1s,1s', services: ['ingest', 'dispatcher'] });
  redis = connectRedis(rig.redis.url, 'scripts', createLogger({ service: 'test', level: 'silent' }));
}, 60_000);
afterAll(async () => {
  await closeRedis(redis);
  await rig.close();
  await Promise.all(open.map((subscriber) => subscriber.close()));
}, 60_000);

let serial = 0;
async function subscribe(...more: string[]) {
  const subscriber = await startSubscriber(200);
  open.push(subscriber);
  const type = `life.case${(serial += 1)}`;
  const { id, secret } = await rig.json<{ id: string; secret: string }>(
    'endpoints',
    'add',
    '--url',
    subscriber.url,
    '--types',
    type,
    ...more,
  );
  let sent = 0;
  /** Sends one event and resolves to the request that it becomes. */
  const next = async (): Promise<Received> => {
    const event = `${type}-${(sent += 1)}`;
    expect((await rig.send(orderPaid(event, { type }))).status).toBe(200);
    return waitUntil(() => subscriber.received.find(({ headers }) => headers['webhook-id'] === event), {
      what: `the webhook of ${event}`,
      timeoutMs: 30_000,
    });
  };
  return { id, secret, type, subscriber, next };
}

/** Which of the secrets verify a request, by both libraries. */
function verifying({ body, headers }: Received, secrets: readonly string[]): string[] {
  const accepted = [Webhook, Svix].map((Library) =>
    secrets.filter((secret) => {
      try {
        new Library(secret).verify(body, headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    }),
  );
  expect(accepted[0]).toEqual(accepted[1]);
  return accepted[0]!;
}

test.each([['envelope'], ['raw']])(
  'receivers with the former or the new secret verify what the running dispatcher sends during a rotation (%s bodies)',
  async (body) => {
    const { id, secret: former, next } = await subscribe('--body', body);
    expect(verifying(await next(), [former])).toEqual([former]);
    const { secret } = await rig.json<{ secret: string }>(
      'endpoints',
      'rotate-secret',
      id,
      '--overlap',
      '1h',
    );
    expect(verifying(await next(), [former, secret])).toEqual([former, secret]);
    await rig.json('endpoints', 'rotate-secret', id, '--finish');
    expect(verifying(await next(), [former, secret])).toEqual([secret]);
  },
  90_000,
);

test('while the dispatcher lacks an encryption key nothing is sent or used up; with the key back it is delivered', async () => {
  const { id, subscriber, next, type } = await subscribe();
  await next();
  const stored = JSON.parse((await redis.hget(keys.endpoint(id), 'record'))!) as {
    secrets: { sealed: string }[];
  };
  const right = JSON.stringify(stored);
  stored.secrets[0]!.sealed = stored.secrets[0]!.sealed.replace(/^v2\.\w+/, 'v2.deadbeef');
  await redis.hset(keys.endpoint(id), 'record', JSON.stringify(stored));
  expect((await rig.send(orderPaid(`${type}-waits`, { type }))).status).toBe(200);
  const delivery = await waitUntil(
    async () => {
      const [newest = '', former] = await redis.zrevrange(keys.byDestination('default', id), 0, 1);
      return former !== undefined && Number(await redis.hget(keys.delivery(newest), 'seq')) > 1 && newest;
    },
    { what: 'the attempt to be put off', timeoutMs: 30_000 },
  );
  expect(await redis.hmget(keys.delivery(delivery), 'status', 'scheduleMade', 'a1')).toEqual([
    'pending',
    '0',
    null,
  ]);
  // The record is written first, and the line comes through a pipe.
  await waitUntil(() => rig.log('dispatcher').join('\n').includes('sealed with key deadbeef'), {
    what: 'the log to name the missing key',
    timeoutMs: 30_000,
  });
  expect(subscriber.received).toHaveLength(1);
  const shown = await rig.cli('endpoints', 'show', id);
  expect(shown.stdout).toContain('stored under key deadbeef');

  await redis.hset(keys.endpoint(id), 'record', right);
  // The next look is a minute away; a person who has put the key back need not wait for it.
  await rig.json('deliveries', 'replay', delivery, '--reason', 'the key is back', '--wait');
  expect(await redis.hget(keys.delivery(delivery), 'status')).toBe('sent');
  expect(subscriber.received).toHaveLength(2);
}, 90_000);

test('a removal whose process is killed is finished by running it again, and no event reaches the endpoint after it began', async () => {
  const { id, subscriber, type } = await subscribe();
  await rig.json('endpoints', 'pause', id);
  const total = 1_500;
  await record(id, total);
  const child = spawn(process.execPath, ['packages/cli/src/main.ts', 'endpoints', 'remove', id], {
    cwd: join(import.meta.dirname, '../..'),
    env: rig.env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const dead = (): Promise<number> => redis.zcard(keys.byStatus('default', 'dead_letter'));
  await waitUntil(async () => (await dead()) > 0, {
    what: 'the removal to begin',
    timeoutMs: 30_000,
    intervalMs: 1,
  });
  child.kill('SIGKILL');
  await ended;
  expect((await rig.send(orderPaid(`${type}-after`, { type }))).status).toBe(200);
  const again = await rig.json<{ changed: boolean; finished: boolean }>('endpoints', 'remove', id);
  expect(again).toMatchObject({ changed: false, finished: true });
  expect(await dead()).toBe(total);
  await waitUntil(async () => (await redis.zcard(keys.unrouted)) > 0, {
    what: 'the late event to be unrouted',
  });
  expect(await redis.zcard(keys.byDestination('default', id))).toBe(total);
  expect(subscriber.received).toHaveLength(0);
}, 90_000);

/** Deliveries to an endpoint, as fan-out makes them. */
async function record(endpoint: string, count: number): Promise<void> {
  const transitions = new Transitions(redis, keys, policyOf(BreakwaterConfig.parse({})));
  const ids = await Promise.all(
    Array.from({ length: count }, async () => {
      const eventKey = newId();
      await transitions.recordEvent({
        eventKey,
        source: 'demo-payments',
        operator: 'default',
        plan: [{ d: endpoint }],
        fields: { eventId: eventKey, type: 't', encoding: 'utf8', body: '{}' },
        from: 0,
        count: 1,
        replan: false,
      });
      return deliveryId(eventKey, endpoint);
    }),
  );
  expect(new Set(ids).size).toBe(count);
}
