import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMIN, type Console, startConsole, type Things } from './api-rig.ts';
import { type Browser, createBrowser } from './ui-rig.ts';

let console: Console;
let acme: Things;
let operator: Browser;
let admin: Browser;
beforeAll(async () => {
  console = await startConsole();
  acme = await console.things('acme');
  await console.things('globex');
  operator = await signedIn((await console.token('operator:acme')).value);
  admin = await signedIn(ADMIN);
});
afterAll(() => console?.close());

const signedIn = async (token: string): Promise<Browser> => {
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn(token);
  return browser;
};
const change = (body: unknown, reason: string) =>
  console.call(
    'PATCH',
    `/api/v1/endpoints/${acme.endpoint}?operator=acme&reason=${encodeURIComponent(reason)}`,
    {
      body,
    },
  );

test('an entry says who, what, why and when, and what was before and after, in words and as text', async () => {
  await change({ timeoutMs: 2_000, description: '<img src=x>' }, '"because" <b>');
  const { text } = await operator.get('/audit?action=endpoint.update');
  expect(text).toContain('token:adminToken');
  expect(text).toContain('<strong>endpoint.update</strong>');
  expect(text).toContain(`href="/endpoints/${acme.endpoint}"`);
  expect(text).toContain('&quot;because&quot; &lt;b&gt;');
  expect(text).toMatch(/<time datetime="20\d\d-/);
  expect(text).toMatch(/timeoutMs<\/bdi>:\s*<code dir="ltr">1s<\/code>\s*→\s*<code dir="ltr">2s<\/code>/);
  expect(text).toContain('&lt;img src=x&gt;');
  expect(text).not.toContain('<img');
});

test('the log is filtered by action and read page by page, each entry once', async () => {
  for (const description of ['one', 'two', 'three']) await change({ description }, `page ${description}`);
  const seen: string[] = [];
  for (let next: string | undefined = '/audit?action=endpoint.*&limit=2'; next !== undefined;) {
    const { text } = await operator.get(next);
    expect(text).not.toContain('replays.start');
    seen.push(...[...text.matchAll(/<bdi>page (\w+)<\/bdi>/g)].map(([, each = '']) => each));
    next = /href="(\/audit\?[^"]*cursor[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  }
  expect(seen).toEqual(['three', 'two', 'one']);
  expect((await operator.get('/audit?action=replays.*')).text).toContain('replays.start');
});

test("nobody sees another operator's entries by asking for everybody's; a token of every operator may", async () => {
  await console.token('admin');
  for (const path of ['/audit', '/audit?of=all']) {
    const { status, text } = await operator.get(path);
    expect(status).toBe(200);
    expect(text).toContain('endpoint.add');
    expect(text).not.toContain('globex');
    expect(text).not.toContain('of admin'); // a token that is no operator's
  }
  const all = (await admin.get('/audit?of=all&limit=200')).text;
  for (const words of ['acme', 'globex', 'of admin']) expect(all).toContain(words);
  expect((await admin.get('/audit?operator=globex')).text).not.toContain(acme.endpoint);
});

test('a filter that is wrong is said on the page, as it was filled in', async () => {
  const page = await operator.get(`/audit?action=${'x'.repeat(61)}`);
  expect(page.status).toBe(400);
  expect(page.text).toContain('role="alert"');
  expect(page.text).toContain(`value="${'x'.repeat(61)}"`);
});
