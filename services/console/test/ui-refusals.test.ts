import { expect, test } from '@jest/globals';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { ADMIN, startConsole } from './api-rig.ts';
import { createBrowser } from './ui-rig.ts';
import { createSessions } from '../src/ui/session.ts';

/** A person sees no header: what a page cannot do now says on itself when to come back, and whether anything may have been done. */
const WAIT = /in \d+ s\./;

test('whoever tries tokens on the page is told that it was too often from here, and when to try again', async () => {
  await using console = await startConsole({ strangers: { perSecond: 0.1, burst: 1 } });
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  expect((await browser.signIn('bwt_guess')).status).toBe(401);
  const refused = await browser.signIn('bwt_guess');
  expect(refused.status).toBe(429);
  expect(refused.text).toContain('without a good token from this address');
  expect(refused.text).toMatch(WAIT);
  expect(refused.text).not.toContain('Retry-After');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await browser.signIn(ADMIN)).status).toBe(303);
});

test('while Redis is away a page says when to load it again, and a form that it may have done its work', async () => {
  const own = await startOwnRedis();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => own.close());
  await using other = await startConsole(); // has the session, so that the page itself is what fails
  const sessions = createSessions(other.redis, other.keys);
  await using console = await startConsole({ redisUrl: own.url, sessions });
  const { delivery } = await console.things('acme');
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn(ADMIN);
  await browser.get('/?operator=acme');
  const csrf = await browser.csrf();
  await own.kill();
  const page = await browser.get('/deliveries');
  expect([page.status, page.headers.get('retry-after')]).toEqual([503, '5']);
  expect(page.text).toMatch(WAIT);
  const sent = await browser.send(`/deliveries/${delivery}/replay`, { csrf, reason: 'x' });
  expect(sent.status).toBe(503);
  expect(sent.text).toContain('look whether it was done');
  await own.restart();
  await console.redis.ping(); // so that what is closed now can say goodbye to it
}, 60_000);
