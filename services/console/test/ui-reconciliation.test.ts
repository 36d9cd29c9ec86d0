import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Finding, ReconciliationSummary } from '@breakwater/contracts/reconciliation';
import { ADMIN, type Console, startConsole, type Things } from './api-rig.ts';
import { type Browser, createBrowser, formTo } from './ui-rig.ts';

let console: Console;
let acme: Things;
let globex: Things;
let run: Record<string, string>;
beforeAll(async () => {
  console = await startConsole();
  [acme, globex] = [await console.things('acme'), await console.things('globex')];
  run = await console.redis.hgetall(console.keys.reconciliation('receipts'));
});
afterAll(() => console.close());
beforeEach(() => console.redis.hset(console.keys.reconciliation('receipts'), run));

const signedIn = async (token: string): Promise<Browser> => {
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn(token);
  return browser;
};
const asOperator = async () => signedIn((await console.token('operator:acme')).value);
const textOf = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

const read = async <T>(part: string): Promise<T> =>
  JSON.parse((await console.redis.hget(console.keys.reconciliation('receipts'), part)) ?? '') as T;
const write = (part: string, value: unknown) =>
  console.redis.hset(console.keys.reconciliation('receipts'), part, JSON.stringify(value));
/** Changes what the latest run told. */
async function told(change: Partial<ReconciliationSummary>, more: readonly Partial<Finding>[] = []) {
  await write('summary', { ...(await read<ReconciliationSummary>('summary')), ...change });
  const findings = await read<Finding[]>('findings');
  await write('findings', [...findings, ...more.map((each) => ({ ...findings[0], ...each }))]);
}

test('the link of an alert opens the page of its target, also for whoever has to sign in first', async () => {
  const address = '/reconciliation?target=receipts';
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  const asked = await browser.get(address);
  expect([asked.status, asked.location]).toEqual([303, `/sign-in?next=${encodeURIComponent(address)}`]);
  const form = await browser.get(asked.location ?? '');
  const next = formTo(form.text, '/sign-in').find(([name]) => name === 'next')?.[1] ?? '';
  expect((await browser.signIn(ADMIN, next)).location).toBe(address);
  const { status, text } = await browser.get(address);
  expect([status, textOf(text)]).toEqual([200, expect.stringContaining('ERP target receipts')]);
  // Of that target alone.
  expect(textOf((await browser.get('/reconciliation?target=another')).text)).not.toContain('target receipts');
});

test('an operator sees its own findings, with links to event and delivery and the next step in words and as a command', async () => {
  await told({}, [
    {
      why: 'given_up',
      kind: 'dead_lettered',
      delivery: acme.delivery,
      status: 'dead_letter',
      next: `breakwater --operator acme deliveries show ${acme.delivery}`,
    },
  ]);
  const browser = await asOperator();
  const { text } = await browser.get('/reconciliation');
  expect(text).toContain(`href="/events/acme-shop/${acme.eventId}"`);
  expect(text).toContain(`href="/deliveries/${encodeURIComponent(acme.delivery)}"`);
  expect(textOf(text)).toContain('Read the last answer and mend the cause');
  expect(textOf(text)).toContain(`breakwater --operator acme deliveries show ${acme.delivery}`);
  expect(textOf(text)).toContain('See whether an erp-consumer runs');
  expect(textOf(text)).toMatch(/missing 1 .*dead-lettered 1 /);
  expect(textOf(text)).toContain('Replay repeats the message, not the money.');
});

test('nothing of another operator, of nobody, or of the whole run is shown to an operator, however it asks', async () => {
  await told({ deep: { kind: 'skipped', reason: 'inner.example does not answer' } }, [
    { kind: 'foreign', why: 'never_accepted', operator: '', eventId: '', reference: 'nobodys-reference' },
  ]);
  const browser = await asOperator();
  for (const path of ['/reconciliation', '/reconciliation?of=everybody', '/reconciliation?target=receipts']) {
    const { text } = await browser.get(path);
    expect(text).toContain(acme.eventId);
    for (const hidden of [globex.eventId, 'globex', 'nobodys-reference', 'inner.example', 'Looked at'])
      expect(text).not.toContain(hidden);
  }
  expect((await browser.get('/reconciliation?operator=globex')).status).toBe(403);
  expect((await browser.get('/reconciliation?target=other')).status).toBe(404);
});

test("a token of every operator sees all findings, or one operator's, and links say whose they are", async () => {
  const browser = await signedIn(ADMIN);
  const all = await browser.get('/reconciliation');
  expect(all.text).toContain(`/events/acme-shop/${acme.eventId}?operator=acme"`);
  expect(all.text).toContain(`/events/globex-shop/${globex.eventId}?operator=globex"`);
  const one = await browser.get('/reconciliation?of=operator&operator=acme');
  expect(one.text).toContain(acme.eventId);
  expect(one.text).not.toContain(globex.eventId);
});

test('a run that is too old is said to be so, loudly, and its silence is not taken for good news', async () => {
  await told({
    startedAt: Date.now() - 3_600_000,
    counts: { missing: 0, dead_lettered: 0, duplicate: 0, unknown: 0, foreign: 0 },
  });
  await write('findings', []);
  const { text } = await (await signedIn(ADMIN)).get('/reconciliation');
  expect(text).toMatch(/role="alert">\s*<strong>Too old to be believed\.<\/strong>/);
  expect(textOf(text)).toMatch(/began 1h (\d+s )?ago/);
  expect(textOf(text)).not.toContain('every accepted event has its posting');
});

test('where no run has ended nothing is claimed', async () => {
  await console.redis.del(console.keys.reconciliation('receipts'));
  const { text } = await (await asOperator()).get('/reconciliation');
  expect(textOf(text)).toContain('No reconciliation has ended yet.');
  expect(textOf(text)).not.toContain('Nothing was found');
});

test('where more was found than is kept, the page says how to list it all', async () => {
  await told({ counts: { missing: 5_000, dead_lettered: 0, duplicate: 0, unknown: 0, foreign: 0 } });
  const { text } = await (await signedIn(ADMIN)).get('/reconciliation');
  expect(textOf(text)).toMatch(
    /Not every finding is shown\. All of them: breakwater reconcile --target receipts/,
  );
});

test('an ERP that could not be compared is named to whoever sees the fleet', async () => {
  await told({ deep: { kind: 'skipped', reason: 'inner.example does not answer' } });
  const { text } = await (await signedIn(ADMIN)).get('/reconciliation');
  expect(textOf(text)).toContain('what it told last stands: inner.example does not answer');
});

test('what strangers and the ERP wrote is text, and turns no writing around', async () => {
  const evil = '<img src=x onerror=alert(1)>\u202e';
  await told({}, [
    {
      eventId: evil,
      reference: evil,
      detail: evil,
      receipts: [evil],
      delivery: evil,
      status: evil,
      next: evil,
      source: evil,
    },
    { next: `breakwater ${evil}`, why: evil as Finding['why'] },
  ]);
  const { status, text } = await (await signedIn(ADMIN)).get('/reconciliation');
  expect(status).toBe(200);
  expect(text).not.toContain('<img');
  expect(text).not.toContain('\u202e');
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;\\u202e');
});
