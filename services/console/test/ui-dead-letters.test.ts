import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newEndpointId, newId } from '@breakwater/contracts/ids';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { type Console, startConsole, type Things } from './api-rig.ts';
import { type Browser, createBrowser, fieldOf } from './ui-rig.ts';

let console: Console;
let browser: Browser;
let reader: Browser;
let csrf: string;
beforeAll(async () => {
  console = await startConsole();
  const signedIn = async (scope: string): Promise<Browser> => {
    const one = createBrowser(`http://127.0.0.1:${console.port}`);
    await one.signIn((await console.token(scope)).value);
    return one;
  };
  [browser, reader] = [await signedIn('operator:acme'), await signedIn('read:acme')];
  csrf = await browser.csrf();
});
afterAll(() => console.close());

const groupOf = ({ endpoint }: Things): string => `/dead-letters/${endpoint}%3Ahttp_5xx`;
const replayOf = (things: Things): string => `${groupOf(things)}/replay`;
const runs = async (operator = 'acme') =>
  (await console.call('GET', `/api/v1/replays?operator=${operator}`)).json.replays as { reason: string }[];
const startedFor = async (reason: string): Promise<number> =>
  (await runs()).filter((run) => run.reason === reason).length;

test('dead letters are listed by destination and cause, with what to do about each; of another operator none', async () => {
  const [own, other] = [await console.things('acme'), await console.things('globex')];
  const { text } = await browser.get('/dead-letters');
  expect(text).toContain(own.endpoint);
  expect(text).toContain('The receiver failed: read its answer and its logs');
  expect(text).toContain(REPLAY_NOTICE);
  expect(text).not.toContain(other.endpoint);
  expect((await browser.get(groupOf(other))).text).not.toContain('http_5xx');
  const theirs = await browser.get(replayOf(other));
  expect(theirs.text).toContain('there is nothing to replay');
  expect(theirs.text).not.toContain('name="key"');
});

test('the filters choose the groups of one destination, and two destinations are refused in words', async () => {
  const [one, other] = [await console.things('acme'), await console.things('acme')];
  const { text } = await browser.get(`/dead-letters?endpoint=${one.endpoint}`);
  expect(text).toContain(`/endpoints/${one.endpoint}`);
  expect(text).not.toContain(other.endpoint);
  expect((await browser.get('/dead-letters?target=receipts')).text).toContain('Nothing is dead here.');
  const both = await browser.get(`/dead-letters?endpoint=${one.endpoint}&target=receipts`);
  expect(both.status).toBe(400);
  expect(both.text).toMatch(/role="alert">[^]*<li>give an endpoint or a target, not both/);
  expect(both.text).toContain(`value="${one.endpoint}"`);
});

test('a group shows what the receiver of its newest delivery answered, as text, and leads to its deliveries', async () => {
  const things = await console.things('acme');
  await console.redis.hset(console.keys.sample(things.delivery), {
    attempt: 1,
    contentType: 'text/html',
    text: '<script>alert(1)</script>',
    truncated: 0,
  });
  const { text } = await browser.get(groupOf(things));
  expect(text).toContain('&lt;script&gt;alert(1)');
  expect(text).not.toContain('<script>alert');
  expect(text).toContain(`/deliveries?status=dead_letter&amp;endpoint=${things.endpoint}&amp;class=http_5xx`);
  expect(text).toContain(`/deliveries/${things.delivery}`);
});

test('a replay of a group first says what it would do, at any rate, and starts nothing by that', async () => {
  const things = await console.things('acme');
  const before = await runs();
  const { text } = await browser.get(`${replayOf(things)}?perSecond=0.1`);
  expect(text).toMatch(/1 of 1 would be\s+replayed/);
  expect(text).toContain('10s at 0.1 a second');
  expect(text).toContain(REPLAY_NOTICE);
  expect(await runs()).toEqual(before);
  const wrong = await browser.get(`${replayOf(things)}?perSecond=many`);
  expect(wrong.status).toBe(400);
  expect(wrong.text).toMatch(/role="alert">[^]*<li>Replays a second: a number such as 20/);
  expect(wrong.text).toMatch(/1 of 1 would be\s+replayed/);
});

test('what would be refused is said with its reason before anything is started', async () => {
  const things = await console.things('acme');
  await console.call('POST', `/api/v1/endpoints/${things.endpoint}/pause?operator=acme`, {
    body: { reason: 'to be paused' },
  });
  const { text } = await browser.get(replayOf(things));
  expect(text).toContain('1 would be refused');
  expect(text).toContain('destination_paused');
  expect(text).toContain('Resume the destination first.');
  expect(text).not.toContain('name="key"');
});

test('a form that is sent twice starts one run, and both times leads to it', async () => {
  const things = await console.things('acme');
  const { text } = await browser.get(replayOf(things));
  const reason = `mended ${newId()}`;
  const form = {
    csrf,
    key: fieldOf(text, 'key'),
    reason,
    perSecond: '0.5',
    mode: 'restart',
  };
  const sent = await Promise.all([
    browser.send(replayOf(things), form),
    browser.send(replayOf(things), form),
  ]);
  // One of two at the same moment may come before the other has ended; sent again it leads to the run as well.
  const again = await browser.send(replayOf(things), form);
  expect(await startedFor(reason)).toBe(1);
  expect(again.status).toBe(303);
  expect(again.location).toMatch(/^\/replays\/\w+\?notice=run_started$/);
  for (const { status, location } of sent)
    expect([`303 ${again.location}`, '409 null']).toContain(`${status} ${location}`);
  const run = await browser.get(again.location ?? '');
  expect(run.text).toContain('The replay run is started.');
  expect(run.text).toContain(reason);
  expect(run.text).toContain('0.5 a second');
  expect(run.text).toContain('begins the schedule of attempts again');
  await console.call('POST', `/api/v1${again.location?.split('?')[0]}/cancel?operator=acme`, {
    body: { reason: 'done with it' },
  });
});

test('a form that is refused comes back as it was filled in, starts nothing, and can be mended', async () => {
  const things = await console.things('acme');
  const page = await browser.get(replayOf(things));
  const key = fieldOf(page.text, 'key');
  const wrong = { csrf, key, perSecond: 'fast' };
  const reason = `because "${newId()}" <b>`;
  const refused = await browser.send(replayOf(things), { ...wrong, reason });
  expect(refused.status).toBe(400);
  expect(refused.text).toMatch(/role="alert">[^]*<li>Replays a second: a number such as 20/);
  expect(refused.text).toContain('value="fast"');
  expect(refused.text).toContain(reason.replaceAll('"', '&quot;').replace('<b>', '&lt;b&gt;'));
  expect(fieldOf(refused.text, 'key')).toBe(key);
  expect(await startedFor(reason)).toBe(0);
});

test('a form that was changed after it had started a run is refused, and gets a key of its own', async () => {
  const things = await console.things('acme');
  const { text } = await browser.get(replayOf(things));
  const form = {
    csrf,
    key: fieldOf(text, 'key'),
    endpoint: things.endpoint,
    class: 'http_5xx',
    reason: 'one',
  };
  const { location } = await browser.send(replayOf(things), form);
  const changed = await browser.send(replayOf(things), { ...form, reason: 'another' });
  expect(changed.status).toBe(422);
  expect(fieldOf(changed.text, 'key')).not.toBe(form.key);
  expect(await startedFor('another')).toBe(0);
  await console.call('POST', `/api/v1${location?.split('?')[0]}/cancel?operator=acme`, {
    body: { reason: 'done with it' },
  });
});

test('a group that was never tried is replayed by why it was given up, and nothing else of its destination is', async () => {
  const { endpoint, delivery } = await console.things('acme');
  const { keys, redis, transitions } = console;
  const untried = newId();
  await transitions.recordEvent({
    eventKey: untried,
    source: 'acme-shop',
    operator: 'acme',
    plan: [{ d: endpoint }],
    fields: { eventId: untried, type: 'x', receivedAt: Date.now(), encoding: 'utf8', body: '{}' },
    from: 0,
    count: 100,
    replan: false,
  });
  await console.call('DELETE', `/api/v1/endpoints/${endpoint}?operator=acme`);
  expect(await redis.hget(keys.delivery(`${untried}.${endpoint}`), 'status')).toBe('dead_letter');
  const list = await browser.get(`/dead-letters?endpoint=${endpoint}`);
  expect(list.text).toContain('no attempt was made');
  const { text } = await browser.get(`/dead-letters/${endpoint}:/replay`);
  expect(text).toMatch(/0 of 1 would be\s+replayed/);
  expect(text).toContain('endpoint_removed');
  expect((await browser.get(`/dead-letters/${endpoint}:`)).text).not.toContain(delivery);
});

test('what names no group is not found, and a group that is empty says so', async () => {
  const none = await browser.get('/dead-letters/http_5xx/replay');
  expect(none.status).toBe(404);
  expect(none.text).toContain('There is no such group of dead letters.');
  const empty = await browser.get(`/dead-letters/${newEndpointId()}:http_5xx`);
  expect(empty.text).toContain('Nothing of this destination is dead for this cause now.');
});

test('a token that reads is offered no replay, and is refused one', async () => {
  const things = await console.things('acme');
  const group = await reader.get(groupOf(things));
  expect(group.text).toContain(things.eventId);
  expect(group.text).not.toContain(replayOf(things));
  expect((await reader.get(replayOf(things))).status).toBe(403);
  const form = { csrf: await reader.csrf(), reason: 'x' };
  expect((await reader.send(replayOf(things), form)).status).toBe(403);
});
