import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { advanceReplayRun, readReplayNotes } from '@breakwater/store/replay-runs';
import { type Console, startConsole, type Things } from './api-rig.ts';
import { type Browser, createBrowser } from './ui-rig.ts';

let console: Console;
let browser: Browser;
let csrf: string;
let acme: Things;
let globex: Things;
const signedIn = async (scope: string): Promise<Browser> => {
  const one = createBrowser(`http://127.0.0.1:${console.port}`);
  await one.signIn((await console.token(scope)).value);
  return one;
};
beforeAll(async () => {
  console = await startConsole();
  [acme, globex] = [await console.things('acme'), await console.things('globex')];
  browser = await signedIn('operator:acme');
  csrf = await browser.csrf();
});
afterAll(() => console.close());

test("runs are listed with who, why and how far, page by page, and another's are not", async () => {
  const second = await console.things('acme');
  const first = await browser.get('/replays?limit=1');
  expect(first.text).toContain(`/replays/${second.run}`);
  expect(first.text).toContain('because of acme');
  expect(first.text).toContain('<progress');
  expect(first.text).not.toContain(acme.run);
  const next = /href="(\/replays\?[^"]*cursor=[^"]*)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const behind = await browser.get(next);
  expect(behind.text).toContain(`/replays/${acme.run}`);
  expect(behind.text).not.toContain(second.run);
  expect(first.text + behind.text).not.toContain('globex');
  const theirs = await browser.get(`/replays/${globex.run}`);
  expect(theirs.status).toBe(404);
  expect(theirs.text).not.toContain('because of globex');
});

test('a run is cancelled and resumed with a reason, for the audit log, and says how far it is', async () => {
  const { run } = await console.things('acme');
  const at = `/replays/${run}`;
  const cancelled = await browser.get(at);
  expect(cancelled.text).toContain('cancelled');
  expect(cancelled.text).toMatch(/0 of 1 have a\s+result/);
  expect(cancelled.text).toContain(REPLAY_NOTICE);
  expect(cancelled.text).not.toContain('hx-get'); // it is over: there is nothing to read again
  const resumed = await browser.send(`${at}/resume`, { csrf, reason: 'the receiver is mended' });
  expect(resumed.location).toBe(`${at}?notice=run_resumed`);
  const running = await browser.get(at);
  expect(running.text).toContain('hx-get');
  expect(running.text).toContain(`action="${at}/cancel"`);
  expect(running.text).not.toContain(`action="${at}/resume"`);
  const stopped = await browser.send(`${at}/cancel`, { csrf, reason: 'not mended after all' });
  expect(stopped.location).toBe(`${at}?notice=run_cancelled`);
  const { json } = await console.call('GET', '/api/v1/audit?operator=acme&limit=20');
  const reasons = json.entries.map((entry: { reason: string }) => entry.reason);
  expect(reasons).toEqual(expect.arrayContaining(['the receiver is mended', 'not mended after all']));
});

test('a change without a reason, or of a run that has ended, is refused in words and changes nothing', async () => {
  const { run, endpoint, delivery } = await console.things('acme');
  const at = `/replays/${run}`;
  const silent = await browser.send(`${at}/resume`, { csrf, reason: ' ' });
  expect(silent.status).toBe(400);
  expect(silent.text).toMatch(/role="alert">[^]*<li>reason/);
  expect((await console.call('GET', `/api/v1${at}?operator=acme`)).json.state).toBe('cancelled');
  // It ends with a refusal: its destination was removed meanwhile.
  await console.call('DELETE', `/api/v1/endpoints/${endpoint}?operator=acme`);
  await browser.send(`${at}/resume`, { csrf, reason: 'go on' });
  await advanceReplayRun(console.redis, console.keys, console.policy, run, 10);
  expect(await readReplayNotes(console.redis, console.keys, run)).toHaveLength(1);
  const ended = await browser.get(at);
  expect(ended.text).toContain('its endpoint was removed: there is nowhere to send it');
  expect(ended.text).toContain(`/deliveries/${delivery}`);
  expect(ended.text).toMatch(/1 of 1 have a\s+result:\s+0\s+sent,\s+0\s+failed,\s+1\s+refused/);
  expect(ended.text).not.toContain(`action="${at}/`);
  const late = await browser.send(`${at}/cancel`, { csrf, reason: 'too late' });
  expect(late.status).toBe(409);
  expect(late.text).toMatch(/role="alert">[^<]*it cannot be cancelled/);
});

test("a token that reads is offered no change, and nobody changes another operator's run", async () => {
  const reader = await signedIn('read:acme');
  const { text } = await reader.get(`/replays/${acme.run}`);
  expect(text).toContain('because of acme');
  expect(text).not.toContain(`action="/replays/`);
  const form = { csrf: await reader.csrf(), reason: 'x' };
  expect((await reader.send(`/replays/${acme.run}/resume`, form)).status).toBe(403);
  const theirs = await browser.send(`/replays/${globex.run}/resume`, { csrf, reason: 'x' });
  expect(theirs.status).toBe(404);
  expect((await console.call('GET', `/api/v1/replays/${globex.run}?operator=globex`)).json.state).toBe(
    'cancelled',
  );
});
