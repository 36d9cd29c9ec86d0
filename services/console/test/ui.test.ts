import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ADMIN, type Console, startConsole, type Things } from './api-rig.ts';
import { createBrowser, type Browser } from './ui-rig.ts';

let console: Console;
let acme: Things;
let globex: Things;
let origin: string;
beforeAll(async () => {
  console = await startConsole();
  [acme, globex] = [await console.things('acme'), await console.things('globex')];
  origin = `http://127.0.0.1:${console.port}`;
});
afterAll(() => console.close());

const signedIn = async (token: string): Promise<Browser> => {
  const browser = createBrowser(origin);
  await browser.signIn(token);
  return browser;
};
const tokenOf = async (scope: string) => (await console.token(scope)).value;

describe('signing in', () => {
  test('a page without a session leads to the sign-in form, and from there back to the page', async () => {
    const browser = createBrowser(origin);
    const first = await browser.get('/deliveries?status=sent');
    expect(first.status).toBe(303);
    expect(first.location).toBe(`/sign-in?next=${encodeURIComponent('/deliveries?status=sent')}`);
    const next = await browser.signIn(ADMIN, '/deliveries?status=sent');
    expect(next.location).toBe('/deliveries?status=sent');
    expect((await browser.get('/deliveries?status=sent')).status).toBe(200);
  });

  test('the session is a cookie that no script reads and no form of another site brings along', async () => {
    const { headers } = await createBrowser(origin).signIn(ADMIN);
    const [cookie = ''] = headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Lax/);
  });

  test('the cookie is not the token, Redis does not hold it in the clear, and a copy of the cookie ends with the session', async () => {
    const browser = await signedIn(ADMIN);
    const { headers } = await browser.get('/', {});
    expect(headers.getSetCookie()).toEqual([]);
    const cookie = browser.cookie();
    expect(cookie).not.toContain(ADMIN);
    const found = await console.redis.keys(`${console.keys.session('')}*`);
    expect(found.length).toBeGreaterThan(0);
    for (const key of found) {
      expect(await console.redis.get(key)).not.toContain(ADMIN);
      expect(cookie).not.toContain(key.split(':').at(-1));
      expect(await console.redis.pttl(key)).toBeLessThanOrEqual(12 * 3_600_000);
      expect(await console.redis.pttl(key)).toBeGreaterThan(0);
    }
    const copy = createBrowser(origin);
    expect((await copy.get('/', { cookie })).status).toBe(200);
    await browser.send('/sign-out', { csrf: await browser.csrf() });
    expect((await copy.get('/', { cookie })).location).toBe('/sign-in');
  });

  test('behind TLS the cookie never goes over plain HTTP', async () => {
    const { headers } = await createBrowser(origin, { 'x-forwarded-proto': 'https' }).signIn(ADMIN);
    expect(headers.getSetCookie()[0]).toMatch(/; Secure/);
  });

  test('a wrong token is refused in words, and begins no session', async () => {
    const browser = createBrowser(origin);
    const refused = await browser.signIn('wrong<b>');
    expect(refused.status).toBe(401);
    expect(refused.text).toContain('This is not a token of this deployment.');
    expect(refused.headers.getSetCookie()).toEqual([]);
  });

  test.each([
    '//evil.example',
    String.raw`/\evil.example`,
    'https://evil.example',
    'javascript:alert(1)',
    '/\tx',
  ])('after signing in nobody is led away to %j', async (next) => {
    const { location } = await createBrowser(origin).signIn(ADMIN, next);
    expect(location).toBe('/');
  });

  test('a token that is revoked ends its session', async () => {
    const { value, token } = await console.token('read');
    const browser = await signedIn(value);
    expect((await browser.get('/')).status).toBe(200);
    await console.call('DELETE', `/api/v1/tokens/${token.id}`);
    console.pass(60_000);
    expect((await browser.get('/')).location).toBe('/sign-in');
  });

  test('signing out ends the session', async () => {
    const browser = await signedIn(ADMIN);
    await browser.send('/sign-out', { csrf: await browser.csrf() });
    expect((await browser.get('/')).location).toBe('/sign-in');
  });
});

describe('forms', () => {
  test('one without the proof, with that of another session, or of another site changes nothing', async () => {
    const operator = await signedIn(await tokenOf('operator:acme'));
    const other = await signedIn(await tokenOf('operator:acme'));
    const to = `/deliveries/${acme.delivery}/replay`;
    for (const csrf of ['', 'x', await other.csrf()]) {
      const refused = await operator.send(to, { csrf, reason: 'forged' });
      expect(refused.status).toBe(403);
    }
    const good = { csrf: await operator.csrf(), reason: 'forged' };
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ])
      expect((await operator.send(to, good, headers)).status).toBe(403);
    const { json } = await console.call('GET', '/api/v1/audit?operator=acme&action=delivery.replay');
    expect(json.entries).toEqual([]);
  });

  test('a token that reads is offered no change, and a form it sends all the same is refused', async () => {
    const reader = await signedIn(await tokenOf('read'));
    const page = await reader.get(`/deliveries/${acme.delivery}?operator=acme`);
    expect(page.text).toContain(acme.eventId);
    expect(page.text).not.toContain('<form method="post" action="/deliveries');
    const refused = await reader.send(`/deliveries/${acme.delivery}/replay`, {
      csrf: await reader.csrf(),
      reason: 'x',
    });
    expect(refused.status).toBe(403);
  });
});

test('a form that is refused shows its page again, which goes on reading itself', async () => {
  const operator = await signedIn(await tokenOf('operator:acme'));
  const path = `/deliveries/${acme.delivery}`;
  const refused = await operator.send(`${path}/replay`, { csrf: await operator.csrf(), reason: '' });
  expect(refused.status).toBe(400);
  const from = /hx-get="([^"]*)"/.exec(refused.text)?.[1] ?? '';
  expect((await operator.get(from)).text).toContain('id="delivery"');
});

test("a page of one operator shows nothing of another's, and does not say that it exists", async () => {
  const browser = await signedIn(await tokenOf('operator:acme'));
  const foreign = await browser.get(`/deliveries/${globex.delivery}`);
  const none = await browser.get(`/deliveries/${globex.delivery.replace(/^./, '~')}`);
  expect([foreign.status, none.status]).toEqual([404, 404]);
  const plain = (text: string) => text.replaceAll(/Request \S+/g, '').replaceAll(/[\w~]+\.ep_\w+/g, '<id>');
  expect(plain(foreign.text)).toBe(plain(none.text));
  expect((await browser.get('/deliveries')).text).not.toContain(globex.eventId);
  expect((await browser.get('/deliveries?operator=globex')).status).toBe(403);
});

test('every page forbids scripts and styles that are not files of ours, frames, and caches', async () => {
  for (const path of ['/', '/sign-in', '/deliveries', '/nowhere']) {
    const { headers, text } = await (await signedIn(ADMIN)).get(path);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).not.toMatch(/<style|<script(?! src="\/assets\/)| style=| on\w+=|https?:\/\//);
  }
});

test('an administrator looks at one operator at a time, and a link can name it', async () => {
  const browser = await signedIn(ADMIN);
  expect((await browser.get('/deliveries')).text).not.toContain(acme.eventId);
  await browser.send('/operator', { csrf: await browser.csrf(), operator: 'acme' });
  expect((await browser.get('/deliveries')).text).toContain(acme.eventId);
  expect((await browser.get('/deliveries?operator=globex')).text).toContain(globex.eventId);
});

test('a list by status says since when each has it, in the words of its filter, which say what their times mean', async () => {
  const browser = await signedIn(await tokenOf('operator:acme'));
  const [all, dead] = [await browser.get('/deliveries'), await browser.get('/deliveries?status=dead_letter')];
  expect(all.text).not.toContain('>Status since<');
  expect(dead.text).toContain('>Status since<');
  expect(dead.text).toContain(acme.eventId);
  expect(dead.text).toMatch(/<option value="dead_letter"\s+selected\s*>dead letter</);
  for (const name of ['since', 'until'])
    expect(all.text).toMatch(new RegExp(`<small id="h-${name}">When it took the status; with any status`));
});

test('filters that are wrong are said on the page, with the form as it was filled in', async () => {
  const page = await (await signedIn(ADMIN)).get('/deliveries?since=yesterday&event=%3Cb%3E');
  expect(page.status).toBe(400);
  expect(page.text).toContain('role="alert"');
  expect(page.text).toContain('value="yesterday"');
  expect(page.text).not.toContain('<b>');
});
