import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { noteAcks } from '@breakwater/store/acks';
import { linesOf } from '../src/ui/curve.ts';
import { ADMIN, type Console, startConsole, type Things } from './api-rig.ts';
import { type Browser, createBrowser } from './ui-rig.ts';

let console: Console;
let acme: Things;
beforeAll(async () => {
  console = await startConsole();
  acme = await console.things('acme');
  await console.things('globex');
  await console.publish('acme', true);
  await console.publish('acme', false);
  await console.publish('globex', true);
  await noteAcks(console.redis, console.keys, [
    { source: 'acme-shop', le: '0.005', count: 40 },
    { source: 'globex-shop', le: '1', count: 10 },
  ]);
});
afterAll(() => console.close());

const signedIn = async (token: string, at: Console = console): Promise<Browser> => {
  const browser = createBrowser(`http://127.0.0.1:${at.port}`);
  await browser.signIn(token);
  return browser;
};
const tokenOf = async (scope: string) => (await console.token(scope)).value;
const textOf = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const unescaped = (text: string): string => text.replaceAll('&quot;', '"');

describe('for a token of every operator', () => {
  test('before the first figures the page says what it does not know, and shows no curve of nothing', async () => {
    await using fresh = await startConsole();
    const { status, text } = await (await signedIn(ADMIN, fresh)).get('/');
    expect(status).toBe(200);
    expect(textOf(text)).toContain("The console has not read the fleet's figures of late");
    expect(textOf(text)).toContain('No history yet.');
    expect(text).toContain('aria-label="receipts: accepted 0, posted 0: equal"');
  });

  test('accepted and posted are two lines, words, and a table', async () => {
    await console.snapshot();
    const { text } = await (await signedIn(ADMIN)).get('/');
    expect(text).toContain('role="img"');
    expect(text).toContain('aria-label="receipts: accepted 2, posted 0: 2 not posted yet"');
    const data = /data-curve="([^"]+)"/.exec(text)?.[1] ?? '';
    const { at, owed, posted } = JSON.parse(unescaped(data)) as ReturnType<typeof linesOf>;
    expect([owed.at(-1), posted.at(-1)]).toEqual([2, 0]);
    expect(Math.abs(Date.now() / 1_000 - (at.at(-1) ?? 0))).toBeLessThan(60);
    expect(textOf(text)).toMatch(/At \(UTC\) Accepted Posted At the ERP \d\d:\d\d:\d\d 2 0 –/);
    expect(textOf(text)).toContain('2 not posted yet 2 open, 0 dead letters closed');
    expect(textOf(text)).not.toContain('has not read');
  });

  test('acknowledgements are of all of ingest, and a slow one is told in words', async () => {
    const { text } = await (await signedIn(ADMIN)).get('/');
    expect(textOf(text)).toMatch(/by all of ingest, p99 975 ms Slower than 150 ms\. p50 [\d.]+ ms; 50 in 5m/);
  });

  test('a status has its colour where anything has it, and dead letters lead to those of the operator', async () => {
    const tileOf = (text: string, of: string): string =>
      text.split('<li class="tile"').find((each) => textOf(`<${each}`).trim().startsWith(of)) ?? '';
    const browser = await signedIn(ADMIN);
    const quiet = (await browser.get('/?operator=quiet')).text;
    const busy = (await browser.get('/?operator=acme')).text;
    expect(tileOf(quiet, 'dead letter')).toContain('>0</a>');
    expect(tileOf(quiet, 'dead letter')).not.toContain('data-status');
    expect(tileOf(busy, 'dead letter')).toContain('data-status="dead_letter"');
    expect(busy).toContain('<a href="/dead-letters">Those of acme</a>');
  });

  test('a range is chosen by a link; one that does not exist is the shortest', async () => {
    const browser = await signedIn(ADMIN);
    for (const [asked, shown] of [
      ['24h', '24h'],
      ['99y', '1h'],
    ]) {
      const { status, text } = await browser.get(`/?range=${asked}`);
      expect(status).toBe(200);
      expect(text).toMatch(new RegExp(`href="/\\?range=${shown}"\\s+aria-current="true"`));
    }
  });
});

describe('an operator that was mistyped', () => {
  const nothing = /Nothing of operator acmee is known here/;

  test('is not taken for a quiet one, and those of the configuration are offered', async () => {
    const browser = await signedIn(ADMIN);
    const wrong = textOf((await browser.get('/?operator=acmee')).text);
    expect(wrong).toMatch(nothing);
    const { text } = await browser.get('/?operator=acme');
    expect(textOf(text)).not.toContain('Nothing of operator');
    const list = /<datalist id="operators">(.*?)<\/datalist>/s.exec(text)?.[1] ?? '';
    expect([...list.matchAll(/value="([^"]*)"/g)].map(([, name]) => name)).toEqual(['acme', 'globex']);
  });

  test('is known as soon as it has an endpoint', async () => {
    const { id } = (
      await console.call('POST', '/api/v1/endpoints?operator=acmee', {
        body: { url: 'http://127.0.0.1:8090/hook', types: ['*'] },
        headers: { 'idempotency-key': 'acmee-1' },
      })
    ).json;
    expect(id).toMatch(/^ep_/);
    expect(textOf((await (await signedIn(ADMIN)).get('/?operator=acmee')).text)).not.toMatch(nothing);
  });

  test('is said to its own token too, which is offered nobody', async () => {
    const { text } = await (await signedIn(await tokenOf('read:nobody'))).get('/');
    expect(textOf(text)).toContain('Nothing of operator nobody is known here');
    expect(text).not.toContain('<datalist');
  });
});

describe('for a token of one operator', () => {
  test("there is nothing of the fleet, and nothing of another's", async () => {
    for (const scope of ['operator:acme', 'read:acme']) {
      const { text } = await (await signedIn(await tokenOf(scope))).get('/?range=24h');
      expect(textOf(text)).toContain('Operator acme');
      expect(text).not.toContain('globex');
      expect(text).not.toContain('data-curve');
      expect(textOf(text)).not.toMatch(
        /fleet|all operators|all of ingest|Memory of Redis|Past due|postings/i,
      );
      expect(textOf(text)).toMatch(/to its sources, p99 [\d.]+ ms p50 [\d.]+ ms; 40 in 5m/);
      expect(textOf(text)).toMatch(/acme-shop 1 0 api published by applications 2 1/);
    }
  });

  test('the API tells it no figure of the fleet either, history or not', async () => {
    const token = await tokenOf('operator:acme');
    for (const query of ['', '?history=1h']) {
      const { status, json } = await console.call('GET', `/api/v1/stats${query}`, { token });
      expect([status, json.fleet]).toEqual([200, null]);
      expect(json.acknowledgements.count).toBe(40);
      expect(json.sources).toEqual([
        { source: 'acme-shop', accepted: 1, unrouted: 0 },
        { source: 'api', accepted: 2, unrouted: 1 },
      ]);
    }
  });

  test('its dead letters are shown by cause, with what to do and a link to them', async () => {
    const browser = await signedIn(await tokenOf('operator:acme'));
    const { text } = await browser.get('/');
    const to =
      /href="(\/deliveries\?status=dead_letter&amp;endpoint=[^"]*&amp;class=http_5xx)"/.exec(text)?.[1] ?? '';
    expect(to).toContain(`endpoint=${acme.endpoint}`);
    expect((await browser.get(to.replaceAll('&amp;', '&'))).text).toContain(acme.eventId);
    expect(textOf(text)).toContain('Dead letters by cause');
  });
});

test('the history of the API is decimated for a longer range, and a range that does not exist is refused', async () => {
  for (const [range, stepMs] of [
    ['1h', 10_000],
    ['6h', 60_000],
    ['24h', 240_000],
  ] as const) {
    const { json } = await console.call('GET', `/api/v1/stats?history=${range}`);
    expect(json.fleet.history.stepMs).toBe(stepMs);
    expect(json.fleet.history.targets[0].target).toBe('receipts');
  }
  expect((await console.call('GET', '/api/v1/stats?history=1y')).status).toBe(400);
  expect((await console.call('GET', '/api/v1/stats')).json.fleet.history).toBeNull();
});

test('no line is drawn through what nobody knows', () => {
  const point = (at: number, count: number) => ({ at, owed: count, postings: count, documents: null });
  expect(linesOf([point(10_000, 1), point(20_000, 2), point(60_000, 3)], 10_000)).toEqual({
    at: [10, 20, 30, 60],
    owed: [1, 2, null, 3],
    posted: [1, 2, null, 3],
  });
  expect(linesOf([], 10_000)).toEqual({ at: [], owed: [], posted: [] });
});
