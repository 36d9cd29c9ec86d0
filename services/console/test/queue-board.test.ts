import { appRoutes } from '@bull-board/api/dist/routes.js';
import { newId } from '@breakwater/contracts/ids';
import { QUEUES } from '@breakwater/contracts/jobs';
import { createEventProducer } from '@breakwater/queue/event-producer';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMIN, type Console, startConsole } from './api-rig.ts';
import { createBrowser, type Browser } from './ui-rig.ts';

/** What nobody may read in the queues. */
const SECRET = 'what-the-webhook-said';
const JOB = 'j-of-the-event';

let console: Console;
let origin: string;
let admin: Browser;
beforeAll(async () => {
  console = await startConsole();
  origin = `http://127.0.0.1:${console.port}`;
  admin = await signedIn(ADMIN);
  await console.things('acme'); // alarms of deliveries
  const producer = createEventProducer(console.redis, console.keys, console.logger);
  const event = {
    v: 1 as const,
    operator: 'acme',
    source: 'acme-shop',
    eventId: 'evt-1',
    type: 'order.paid',
    entity: '',
    contentType: 'application/json',
    receivedAt: Date.now(),
    encoding: 'utf8' as const,
    body: `{"said":"${SECRET}"}`,
  };
  await producer.add(event, JOB, { id: newId(), ttlMs: 3_600_000 });
  await producer.close();
});
afterAll(() => console.close());

async function signedIn(token: string): Promise<Browser> {
  const browser = createBrowser(origin);
  await browser.signIn(token);
  return browser;
}

/** Every key of this console with what it holds and when it ends. */
async function everything(): Promise<Record<string, string>> {
  const { redis, keys } = console;
  const all: Record<string, string> = {};
  for (const key of (await redis.keys(`${keys.prefix}*`)).toSorted()) {
    const [dump, expiry] = [await redis.dumpBuffer(key), await redis.pexpiretime(key)];
    all[key] = `${dump?.toString('base64')} ${expiry}`;
  }
  return all;
}

/** A route of bull-board with names of ours in it. */
const fill = (route: string): string =>
  `/queues${route
    .replace(':queueName', QUEUES.events)
    .replace(':jobId', JOB)
    .replace(':queueStatus', 'waiting')
    .replace(':schedulerId', 'x')}`;
const routes = appRoutes.api.flatMap(({ method, route }) =>
  [method].flat().flatMap((each) => [route].flat().map((path) => ({ method: each, path }))),
);

test('whatever an administrator sends to any path of the queues but a question is refused, and changes nothing', async () => {
  const before = await everything();
  expect(Object.keys(before).some((key) => key.endsWith(`:${JOB}`))).toBe(true);
  const cookie = admin.cookie();
  const paths = new Set([...routes.map(({ path }) => path), '/', '/queue/:queueName/:jobId', '/static/x']);
  expect(routes.filter(({ method }) => method !== 'get').length).toBeGreaterThan(20);
  for (const path of paths)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await fetch(origin + fill(path), {
        method,
        headers: { cookie, origin, 'content-type': 'application/json', 'x-http-method-override': 'GET' },
        body: '{"force":true,"concurrency":1,"data":{},"delay":1,"priority":1,"name":"x"}',
      });
      await response.text();
      expect(`${method} ${path} ${response.status}`).toBe(`${method} ${path} 405`);
    }
  expect(await everything()).toEqual(before);
});

test('looking at every page and asking every question of the queues writes nothing', async () => {
  const before = await everything();
  for (const { path } of routes.filter(({ method }) => method === 'get'))
    for (const queue of Object.values(QUEUES)) {
      const { status } = await admin.get(fill(path).replace(QUEUES.events, queue));
      // What the board hides of Redis itself it also refuses.
      expect(path === '/api/redis/stats' ? [403] : [200, 404]).toContain(status);
    }
  for (const path of appRoutes.entryPoint.route) expect((await admin.get(fill(path))).status).toBe(200);
  expect(await everything()).toEqual(before);
});

test("an event's job is shown with its state and without what the webhook said", async () => {
  const list = await admin.get(`/queues/api/queues?activeQueue=${QUEUES.events}&status=latest`);
  const { queues } = JSON.parse(list.text) as {
    queues: { name: string; readOnlyMode: boolean; allowRetries: boolean; jobs: { id: string }[] }[];
  };
  expect(queues.map(({ name }) => name).toSorted()).toEqual(Object.values(QUEUES).toSorted());
  expect(queues.every(({ readOnlyMode, allowRetries }) => readOnlyMode && !allowRetries)).toBe(true);
  expect(queues.find(({ name }) => name === QUEUES.events)?.jobs.map(({ id }) => id)).toEqual([JOB]);
  const one = await admin.get(`/queues/api/queues/${QUEUES.events}/${JOB}`);
  const { job, status } = JSON.parse(one.text) as { job: Record<string, unknown>; status: string };
  expect([job['id'], status, job['attempts'], job['isFailed']]).toEqual([JOB, 'waiting', 0, false]);
  expect(job['opts']).toMatchObject({ attempts: 20 });
  for (const { path } of routes.filter(({ method }) => method === 'get')) {
    for (const query of ['', '?status=waiting', `?activeQueue=${QUEUES.events}&status=waiting`, '?root=node'])
      expect((await admin.get(fill(path) + query)).text).not.toContain(SECRET);
  }
});

test('only an administrator sees the queues, and only for one does the menu lead there', async () => {
  expect((await admin.get('/')).text).toContain('href="/queues"');
  for (const scope of ['operator:acme', 'read']) {
    const browser = await signedIn((await console.token(scope)).value);
    for (const path of ['/queues', '/queues/', '/queues/api/queues', '/queues/static/favicon.ico'])
      expect({ scope, path, status: (await browser.get(path)).status }).toEqual({ scope, path, status: 403 });
    expect((await browser.get('/')).text).not.toContain('href="/queues"');
  }
  const stranger = createBrowser(origin);
  expect((await stranger.get('/queues')).location).toBe(`/sign-in?next=${encodeURIComponent('/queues')}`);
  expect((await stranger.get('/queues/api/queues')).status).toBe(303);
});
