import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readLedger } from '@breakwater/store/ledger';
import { type Console, givenUpPosting, startConsole } from './api-rig.ts';
import { type Browser, createBrowser, filledIn, formTo } from './ui-rig.ts';

let console: Console;
let browser: Browser;
beforeAll(async () => {
  console = await startConsole();
  browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn((await console.token('operator:acme')).value);
});
afterAll(() => console.close());

const figures = async (): Promise<readonly [postings: number, resolved: number]> => {
  const { postings, resolved } = await readLedger(console.redis, console.keys);
  return [postings.get('receipts') ?? 0, resolved.get('receipts') ?? 0];
};

/** Closes a given-up posting by its page's form, filled in so. */
async function close(values: Readonly<Record<string, string>>): Promise<string> {
  const posting = await givenUpPosting(console, 'acme');
  const action = `/deliveries/${posting}/resolve`;
  const form = formTo((await browser.get(`/deliveries/${posting}`)).text, action);
  const sent = await browser.send(action, filledIn(form, values));
  expect([sent.status, sent.location]).toEqual([303, `/deliveries/${posting}?notice=resolved`]);
  return (await console.call('GET', `/api/v1/deliveries/${posting}?operator=acme`)).json.status as string;
}

test('a given-up posting whose document is in the ERP is closed as posted where the tick is set', async () => {
  const [postings, resolved] = await figures();
  expect(await close({ reason: 'posted by hand, receipt 4711', posted: 'true' })).toBe('resolved');
  expect(await figures()).toEqual([postings + 1, resolved]);
});

test('without the tick it is closed as owed no more', async () => {
  const [postings, resolved] = await figures();
  expect(await close({ reason: 'the order was cancelled' })).toBe('resolved');
  expect(await figures()).toEqual([postings, resolved + 1]);
});

test('a dead letter to an endpoint is not asked about a document in the ERP', async () => {
  const { delivery } = await console.things('acme');
  const { text } = await browser.get(`/deliveries/${delivery}`);
  expect(text).toContain('Close as settled');
  expect(text).not.toContain('name="posted"');
});
