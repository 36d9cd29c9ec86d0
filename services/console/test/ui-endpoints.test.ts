import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSubscriber, type Subscriber } from '../../../test/support/subscriber.ts';
import { type Answer, type Console, startConsole, type Things } from './api-rig.ts';
import { type Browser, createBrowser, filledIn, formTo, type Seen } from './ui-rig.ts';

let console: Console;
let acme: Things;
let globex: Things;
let subscriber: Subscriber;
let operator: Browser;
beforeAll(async () => {
  console = await startConsole();
  subscriber = await startSubscriber(200);
  [acme, globex] = [await console.things('acme'), await console.things('globex')];
  operator = await signedIn('operator:acme');
});
afterAll(async () => {
  await console?.close();
  await subscriber?.close();
});

const signedIn = async (scope: string): Promise<Browser> => {
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn((await console.token(scope)).value);
  return browser;
};
const api = (method: string, path: string, body?: unknown): Promise<Answer> =>
  console.call(method, `/api/v1${path}${path.includes('?') ? '&' : '?'}operator=acme`, { body });
const audit = async (action: string) => (await api('GET', `/audit?action=${action}&limit=200`)).json.entries;

/** Opens a form, fills it in and sends it. */
const submit = async (path: string, values: Readonly<Record<string, string>>): Promise<Seen> => {
  const page = await operator.get(path);
  return operator.send(path, filledIn(formTo(page.text, path), values));
};
const secretIn = (text: string): string => /whsec_[A-Za-z0-9+/=]+/.exec(text)?.[0] ?? '';

let id: string;
let to: string;
beforeEach(async () => {
  const { json, text } = await api('POST', '/endpoints', {
    url: `http://127.0.0.1:8099/of-${Math.random()}`,
    sources: ['acme-shop'],
    timeoutMs: 1_500,
    scheduleMs: [0, 90_000, 93_784_000],
    rateLimit: { perSecond: 2.5, burst: 7 },
    headers: { 'x-key': 'header-value-1', 'x-other': 'header-value-2' },
  });
  if (json.ok === false) throw new Error(text);
  id = json.id;
  to = `/endpoints/${id}`;
});

describe('registering', () => {
  test('every setting arrives, the secret is shown once with how to verify, and never again', async () => {
    const made = await submit('/endpoints/new', {
      url: subscriber.url,
      description: 'a <b>partner</b>',
      types: 'order.*\r\n refund.created, x',
      sources: 'api',
      reference: 'source',
      body: 'raw',
      timeout: '2.5s',
      maxInFlight: '3',
      perSecond: '0.5',
      burst: '4',
      schedule: '0s, 1m, 90s',
      headers: 'X-Key:  secret: value \r\n\r\nx-two: 2',
    });
    expect(made.status).toBe(200);
    const secret = secretIn(made.text);
    expect(secret).not.toBe('');
    for (const words of ['webhook-signature', 'raw bytes', 'HMAC-SHA256']) expect(made.text).toContain(words);
    const shown = /href="(\/endpoints\/ep_\w+)"/.exec(made.text)?.[1] ?? '';
    const { json } = await api('GET', shown);
    expect(json).toMatchObject({
      url: subscriber.url,
      description: 'a <b>partner</b>',
      types: ['order.*', 'refund.created', 'x'],
      sources: ['api'],
      reference: 'source',
      body: 'raw',
      timeoutMs: 2_500,
      maxInFlight: 3,
      rateLimit: { perSecond: 0.5, burst: 4 },
      scheduleMs: [0, 60_000, 90_000],
      headers: { 'x-key': '[hidden]', 'x-two': '[hidden]' },
    });
    // Header values arrive as they were filled in.
    await operator.send(`${shown}/test`, { csrf: await operator.csrf() });
    expect(subscriber.received.at(-1)?.headers).toMatchObject({ 'x-key': 'secret: value', 'x-two': '2' });
    for (const path of [shown, `${shown}/edit`, '/endpoints', '/audit']) {
      const { text } = await operator.get(path);
      expect(text).not.toContain(secret);
      expect(text).not.toContain('secret: value');
      expect(text).not.toContain('<b>partner');
    }
  });

  test('a form that is sent twice registers one endpoint and shows the same secret', async () => {
    const page = await operator.get('/endpoints/new');
    const form = filledIn(formTo(page.text, '/endpoints/new'), {
      url: `http://127.0.0.1:8099/${Math.random()}`,
      sources: 'acme-shop',
    });
    const before = (await audit('endpoint.add')).length;
    const [first, second] = [
      await operator.send('/endpoints/new', form),
      await operator.send('/endpoints/new', form),
    ];
    expect(secretIn(first.text)).not.toBe('');
    expect(secretIn(second.text)).toBe(secretIn(first.text));
    expect(await audit('endpoint.add')).toHaveLength(before + 1);
  });

  test('every mistake is said at once, and what was filled in is kept', async () => {
    const before = (await audit('endpoint.add')).length;
    const filled = {
      url: 'http://127.0.0.1:8099/x?<i>',
      description: '"><script>alert(1)</script>',
      timeout: 'a while',
      maxInFlight: '5000',
      perSecond: 'many',
      schedule: '0s, soon',
      headers: 'no colon here\r\nhost: evil',
    };
    const refused = await submit('/endpoints/new', filled);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('role="alert"');
    for (const label of ['Timeout', 'Attempts at once', 'Rate limit', 'Schedule of attempts', 'Headers'])
      expect(refused.text).toMatch(new RegExp(`<li>\\s*${label}: `));
    expect(refused.text).toContain('line 1 is not of the form');
    expect(refused.text).not.toContain('<script>alert');
    expect(Object.fromEntries(formTo(refused.text, '/endpoints/new'))).toMatchObject(filled);
    expect(await audit('endpoint.add')).toHaveLength(before);
  });

  test('an address that is not allowed is refused in words', async () => {
    const refused = await submit('/endpoints/new', { url: 'http://169.254.169.254/', sources: 'acme-shop' });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/role="alert"[^<]*169\.254\.169\.254/);
  });
});

describe('changing', () => {
  test('a form that is saved untouched changes nothing', async () => {
    const saved = await submit(`${to}/edit`, {});
    expect(saved.location).toBe(`${to}?notice=nothing_changed`);
    expect((await api('GET', to)).json.version).toBe(1);
  });

  test('only what was touched is changed; headers are replaced and removed by name', async () => {
    const page = await operator.get(`${to}/edit`);
    expect(page.text).not.toContain('header-value');
    const form = filledIn(formTo(page.text, `${to}/edit`), {
      timeout: '3s',
      perSecond: '',
      burst: '',
      headers: 'x-new: n',
      drop: 'x-other',
      reason: 'because of the test',
    });
    expect((await operator.send(`${to}/edit`, form)).location).toBe(`${to}?notice=endpoint_saved`);
    expect((await api('GET', to)).json).toMatchObject({
      timeoutMs: 3_000,
      rateLimit: null,
      scheduleMs: [0, 90_000, 93_784_000],
      sources: ['acme-shop'],
      headers: { 'x-key': '[hidden]', 'x-new': '[hidden]' },
    });
    const [entry] = await audit('endpoint.update');
    expect(entry).toMatchObject({ reason: 'because of the test', facts: { destination: id } });
    expect(Object.keys(entry.after).toSorted()).toEqual(['headers', 'rateLimit', 'timeoutMs', 'version']);
  });

  test('what the form cannot write as it is stays as it is, as long as nobody touches it', async () => {
    await api('PATCH', to, { types: ['one,type'] });
    await submit(`${to}/edit`, { description: 'new' });
    expect((await api('GET', to)).json).toMatchObject({ types: ['one,type'], description: 'new' });
  });

  test('when somebody else was faster nothing is lost: it says so, keeps what was filled in, and takes over the rest', async () => {
    const page = await operator.get(`${to}/edit`);
    await api('PATCH', to, { timeoutMs: 9_000, maxInFlight: 9, description: 'theirs' });
    const form = filledIn(formTo(page.text, `${to}/edit`), { description: 'mine', timeout: '4s' });
    const refused = await operator.send(`${to}/edit`, form);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('Somebody else changed this endpoint');
    expect(refused.text).toMatch(/Timeout is now\s+<code dir="ltr">9s<\/code>:\s+saving replaces it/);
    expect(refused.text).toMatch(/Attempts at once is now\s+<code dir="ltr">9<\/code>:\s+taken over/);
    expect((await api('GET', to)).json).toMatchObject({
      version: 2,
      description: 'theirs',
      timeoutMs: 9_000,
    });
    const again = await operator.send(`${to}/edit`, formTo(refused.text, `${to}/edit`));
    expect(again.location).toBe(`${to}?notice=endpoint_saved`);
    expect((await api('GET', to)).json).toMatchObject({
      description: 'mine',
      timeoutMs: 4_000,
      maxInFlight: 9,
    });
  });

  test('after a mistake the form is still for the version that it was made for', async () => {
    const page = await operator.get(`${to}/edit`);
    const wrong = filledIn(formTo(page.text, `${to}/edit`), { timeout: 'soon' });
    await api('PATCH', to, { timeoutMs: 9_000 });
    const refused = await operator.send(`${to}/edit`, wrong);
    expect(refused.status).toBe(400);
    const mended = filledIn(formTo(refused.text, `${to}/edit`), { timeout: '4s' });
    expect((await operator.send(`${to}/edit`, mended)).status).toBe(409);
    expect((await api('GET', to)).json.timeoutMs).toBe(9_000);
  });
});

describe('what is done to one', () => {
  test('a test says whether it works, with class, remedy, duration and the answer as text', async () => {
    subscriber.answer(401);
    await api('PATCH', to, { url: subscriber.url });
    const failed = await operator.send(`${to}/test`, { csrf: await operator.csrf() });
    expect(failed.status).toBe(200);
    expect(failed.text).toContain('http_auth');
    expect(failed.text).toMatch(/class="remedy">\s*\w/);
    expect(failed.text).toMatch(/Took<\/dt>\s*<dd>\d+ms/);
    expect(failed.text).toMatch(/<pre class="foreign"[^>]*>\nanswer \d+<\/pre/);
    subscriber.answer(200);
    const worked = await operator.send(`${to}/test`, { csrf: await operator.csrf() });
    expect(worked.text).toContain('it works');
  });

  test('it is paused and resumed with a reason, which its page shows', async () => {
    const refused = await submit(`${to}/pause`, { reason: '  ' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('role="alert"');
    expect((await api('GET', to)).json.paused).toBe(false);
    await submit(`${to}/pause`, { reason: 'their <b>maintenance' });
    const { text } = await operator.get(to);
    expect(text).toContain('their &lt;b&gt;maintenance');
    expect(text).toContain('>paused<');
    expect((await operator.get('/endpoints')).text).toContain('>paused<');
    const resumed = await submit(`${to}/resume`, { reason: 'over' });
    expect(resumed.location).toBe(`${to}?notice=endpoint_resumed`);
    expect((await api('GET', to)).json.paused).toBe(false);
  });

  test('a rotation shows the new secret once, both sign until it is finished, and a second one is refused in words', async () => {
    const rotated = await submit(`${to}/rotate-secret`, { overlap: '1h' });
    expect(secretIn(rotated.text)).not.toBe('');
    expect((await operator.get(to)).text).not.toContain(secretIn(rotated.text));
    expect((await api('GET', to)).json.secrets).toHaveLength(2);
    const second = await submit(`${to}/rotate-secret`, { overlap: '1h' });
    expect(second.status).toBe(409);
    expect(second.text).toMatch(/role="alert"[^<]*rotated already/);
    const wrong = await submit(`${to}/rotate-secret`, { overlap: 'a day' });
    expect(wrong.text).toContain('value="a day"');
    expect((await submit(`${to}/finish-rotation`, {})).location).toBe(`${to}?notice=rotation_finished`);
    expect((await api('GET', to)).json.secrets).toHaveLength(1);
  });

  test('it is removed only with a reason, a confirmation, and for the version that was looked at', async () => {
    const page = await operator.get(`${to}/remove`);
    expect(page.text).toContain('become dead letters');
    const form = formTo(page.text, `${to}/remove`);
    const good = { reason: 'they left', confirmed: 'true' };
    for (const values of [{}, { reason: 'they left' }, { ...good, reason: ' ' }]) {
      const refused = await operator.send(`${to}/remove`, filledIn(form, values));
      expect([refused.status, refused.text.includes('role="alert"')]).toEqual([400, true]);
    }
    await api('PATCH', to, { description: 'wanted after all' });
    expect((await operator.send(`${to}/remove`, filledIn(form, good))).status).toBe(409);
    expect((await api('GET', to)).status).toBe(200);
    expect((await submit(`${to}/remove`, good)).location).toBe('/endpoints?notice=endpoint_removed');
    expect((await api('GET', to)).status).toBe(404);
    expect((await audit('endpoint.remove'))[0]).toMatchObject({ reason: 'they left' });
  });
});

describe('whose it is', () => {
  const PAGES = ['', '/edit', '/pause', '/resume', '/rotate-secret', '/finish-rotation', '/remove', '/test'];

  test("another operator's endpoint is not found on any page, is changed by none, and is in no list", async () => {
    const before = (await console.call('GET', `/api/v1/endpoints/${globex.endpoint}?operator=globex`)).text;
    const csrf = await operator.csrf();
    for (const page of PAGES) {
      const path = `/endpoints/${globex.endpoint}${page}`;
      const seen = await operator.get(path);
      expect([path, seen.status]).toEqual([path, 404]);
      const form = {
        csrf,
        version: '1',
        base: '{}',
        reason: 'x',
        confirmed: 'true',
        overlap: '0s',
        url: 'http://127.0.0.1:8099/',
      };
      expect((await operator.send(path, form)).status).toBe(404);
    }
    expect((await operator.get('/endpoints')).text).not.toContain('globex');
    const after = (await console.call('GET', `/api/v1/endpoints/${globex.endpoint}?operator=globex`)).text;
    expect(after).toBe(before);
  });

  test('a token that only reads sees every fact and no form, and what it sends all the same is refused', async () => {
    const reader = await signedIn('read:acme');
    const shown = await reader.get(to);
    expect(shown.status).toBe(200);
    expect(shown.text).not.toContain(`action="${to}`);
    expect(shown.text).not.toContain(`href="${to}/`);
    expect((await reader.get('/endpoints')).text).not.toContain('/endpoints/new');
    const csrf = await reader.csrf();
    for (const path of ['/endpoints/new', ...PAGES.slice(1).map((page) => to + page)]) {
      expect([path, (await reader.get(path)).status]).toEqual([path, 403]);
      const form = {
        csrf,
        version: '1',
        base: '{}',
        reason: 'x',
        confirmed: 'true',
        overlap: '0s',
        url: 'http://127.0.0.1:8099/',
      };
      expect([path, (await reader.send(path, form)).status]).toEqual([path, 403]);
    }
    expect((await api('GET', to)).json).toMatchObject({ version: 1, paused: false });
  });

  test('the list says how each answers of late, and goes on page by page until every endpoint was seen once', async () => {
    const { text } = await operator.get('/endpoints?limit=200');
    expect(text).toMatch(/0%\s*<small>0 of 1 succeeded/);
    const all = new Set([...text.matchAll(/href="\/endpoints\/(ep_\w+)"/g)].map(([, each]) => each));
    expect(all.has(acme.endpoint)).toBe(true);
    const seen: (string | undefined)[] = [];
    for (let next: string | undefined = '/endpoints?limit=2'; next !== undefined;) {
      const page: Seen = await operator.get(next);
      seen.push(...[...page.text.matchAll(/href="\/endpoints\/(ep_\w+)"/g)].map(([, each]) => each));
      next = /href="(\/endpoints\?[^"]*cursor[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect([seen.length, new Set(seen)]).toEqual([all.size, all]);
  });
});
