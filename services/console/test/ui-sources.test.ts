import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventKey, newId } from '@breakwater/contracts/ids';
import { HOUR_MS, noteSourceKnown, noteSourceUse } from '@breakwater/store/source-use';
import { type Console, refuse, startConsole } from './api-rig.ts';
import { type Browser, createBrowser } from './ui-rig.ts';

let console: Console;
let browser: Browser;
let csrf: string;
const signedIn = async (scope: string): Promise<Browser> => {
  const one = createBrowser(`http://127.0.0.1:${console.port}`);
  await one.signIn((await console.token(scope)).value);
  return one;
};
beforeAll(async () => {
  console = await startConsole();
  browser = await signedIn('operator:acme');
  csrf = await browser.csrf();
});
afterAll(() => console.close());

const sign = (body: string): string => createHmac('sha256', 'source-secret').update(body).digest('hex');
const accepted = async (eventId: string): Promise<boolean> =>
  (await console.redis.get(console.keys.dedupe(eventKey('acme', 'acme-shop', eventId)))) !== null;

test("sources say when they were last heard of, for how long they are quiet and which secret is used; another's are not shown", async () => {
  const never = await browser.get('/sources');
  expect(never.text).toContain('/sources/acme-shop');
  expect(never.text).toContain('nothing came yet');
  expect(never.text).not.toContain('globex');
  const now = Date.now();
  const secret = { id: 'a', value: 'source-secret' };
  await noteSourceKnown(console.redis, console.keys, 'acme-shop', [secret], now - 100 * HOUR_MS);
  await noteSourceUse(console.redis, console.keys, 'acme-shop', {
    lastSeenAt: now - 30.5 * HOUR_MS,
    lastAcceptedAt: now - 40 * HOUR_MS,
    hours: new Map(),
    secrets: [{ secret, lastUsedAt: now - 30.5 * HOUR_MS }],
  });
  for (const path of ['/sources', '/sources/acme-shop']) {
    const { text } = await browser.get(path);
    expect(text).toContain('30 h');
    expect(text).toContain(new Date(now - 40 * HOUR_MS).toISOString());
    expect(text).toContain('<code dir="ltr">a</code>');
    expect(text).not.toContain('source-secret');
  }
  const one = await browser.get('/sources/acme-shop');
  expect(one.text).toContain('keep: a check has no other secret in force');
  const [theirs, nobodys] = [await browser.get('/sources/globex-shop'), await browser.get('/sources/nobody')];
  expect([theirs.status, nobodys.status]).toEqual([404, 404]);
});

test('a source that has gone quiet is called silent in words', async () => {
  const now = Date.now();
  const hour = Math.floor(now / HOUR_MS);
  // Ten an hour for nine days, and nothing for a day.
  const hours = new Map(Array.from({ length: 9 * 24 }, (_, back) => [hour - 24 - back, 10] as const));
  await noteSourceKnown(console.redis, console.keys, 'globex-shop', [], now - 20 * 24 * HOUR_MS);
  await noteSourceUse(console.redis, console.keys, 'globex-shop', {
    lastSeenAt: now - 24 * HOUR_MS,
    hours,
    secrets: [],
  });
  const globex = await signedIn('read:globex');
  expect((await globex.get('/sources')).text).toContain('24 h: silent');
  expect((await globex.get('/sources/globex-shop')).text).toContain('It has gone quiet.');
});

test('what was refused is listed by source, page by page, and its body is shown only when asked for, masked', async () => {
  const body = `{"id":"${newId()}","token":"source-secret","note":"<b>hello"}`;
  const older = await refuse(console, 'acme', '{}');
  const id = await refuse(console, 'acme', body);
  const theirs = await refuse(console, 'globex', body);
  expect((await browser.get('/sources/acme-shop')).text).toContain(`/quarantine/${id}`);
  const first = await browser.get('/quarantine?source=acme-shop&limit=1');
  const next =
    /href="(\/quarantine\?[^"]*cursor=[^"]*)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const pages = first.text + (await browser.get(next)).text;
  expect(pages).toContain(`/quarantine/${id}`);
  expect(pages).toContain(`/quarantine/${older}`);
  expect(pages).not.toContain(theirs);
  expect((await browser.get(`/quarantine/${theirs}?body=true`)).status).toBe(404);
  const masked = await browser.get(`/quarantine/${id}`);
  expect(masked.text).toContain('it may hold personal data');
  expect(masked.text).not.toContain('hello');
  const shown = await browser.get(`/quarantine/${id}?body=true`);
  expect(shown.text).toContain('&lt;b&gt;hello');
  expect(shown.text).not.toContain('source-secret');
  expect(shown.text).not.toContain('<b>');
});

test('what is right today is accepted by a retry with a reason, once, and leaves the quarantine', async () => {
  const eventId = newId();
  const body = JSON.stringify({ id: eventId });
  const id = await refuse(console, 'acme', body, sign(body));
  const page = await browser.get(`/quarantine/${id}`);
  expect(page.text).toContain('it is right:');
  expect(page.text).toContain(`/events/acme-shop/${eventId}`);
  const form = { csrf, source: 'acme-shop' };
  const silent = await browser.send(`/quarantine/${id}/retry`, { ...form, reason: '' });
  expect(silent.status).toBe(400);
  expect(silent.text).toMatch(/role="alert">[^]*<li>reason/);
  expect(await accepted(eventId)).toBe(false);
  const reason = `the secret is right now ${eventId}`;
  const retried = await browser.send(`/quarantine/${id}/retry`, { ...form, reason });
  expect(retried.location).toBe('/quarantine?source=acme-shop&notice=quarantine_accepted');
  expect(await accepted(eventId)).toBe(true);
  const list = await browser.get(retried.location ?? '');
  expect(list.text).toContain('Accepted. Its events are on their way');
  expect(list.text).not.toContain(id);
  const { json } = await console.call('GET', '/api/v1/audit?operator=acme&action=quarantine.retry');
  expect(json.entries[0].reason).toBe(reason);
  // The same again, refused at another time: its event is known.
  const again = await refuse(console, 'acme', body, sign(body));
  const known = await browser.send(`/quarantine/${again}/retry`, { ...form, reason });
  expect(known.location).toBe('/quarantine?source=acme-shop&notice=quarantine_known');
});

test('what is still wrong stays, says why and what would explain it, and the form is as it was filled in', async () => {
  const body = `{"id":"${newId()}"}`;
  const id = await refuse(console, 'acme', `${body}\n`, sign(body));
  const retried = await browser.send(`/quarantine/${id}/retry`, {
    csrf,
    source: 'acme-shop',
    reason: 'try "it"',
  });
  expect(retried.status).toBe(409);
  expect(retried.text).toContain('It is still refused, and stays');
  expect(retried.text).toContain('signature_invalid');
  expect(retried.text).toContain('Mistakes that would explain it');
  expect(retried.text).toContain('value="try &quot;it&quot;"');
  expect((await browser.get(`/quarantine/${id}`)).status).toBe(200);
});

test("a token that reads is offered no retry, and another operator's refused request is not retried", async () => {
  const eventId = newId();
  const body = JSON.stringify({ id: eventId });
  const id = await refuse(console, 'acme', body, sign(body));
  for (const scope of ['read:acme', 'operator:globex']) {
    const other = await signedIn(scope);
    const { text } = await other.get(`/quarantine/${id}`);
    expect(text).not.toContain(`action="/quarantine/${id}/retry"`);
    const form = { csrf: await other.csrf(), source: 'acme-shop', reason: 'x' };
    const { status } = await other.send(`/quarantine/${id}/retry`, form);
    expect(status).toBe(scope === 'read:acme' ? 403 : 404);
  }
  expect(await accepted(eventId)).toBe(false);
});
