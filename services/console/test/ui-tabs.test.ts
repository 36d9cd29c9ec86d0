import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMIN, type Console, startConsole, type Things } from './api-rig.ts';
import { attributeOf, type Browser, createBrowser, filledIn, formTo } from './ui-rig.ts';

/** Two tabs of one session share its cookies, and so the operator that was chosen last. */
let console: Console;
let acme: Things;
let globex: Things;
beforeAll(async () => {
  console = await startConsole();
  [acme, globex] = [await console.things('acme'), await console.things('globex')];
});
afterAll(() => console.close());

const signedIn = async (token: string): Promise<Browser> => {
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn(token);
  return browser;
};

test('a form acts on the operator that its page showed, whatever another tab has chosen since', async () => {
  const browser = await signedIn(ADMIN);
  const page = await browser.get('/endpoints/new?operator=acme');
  await browser.get('/deliveries?operator=globex'); // the other tab
  const description = 'of two tabs';
  const form = filledIn(formTo(page.text, '/endpoints/new'), {
    url: 'https://partner.example/',
    description,
  });
  const made = await browser.send('/endpoints/new', form);
  expect(made.text).toContain('whsec_');
  const of = async (operator: string) =>
    JSON.stringify((await console.call('GET', `/api/v1/endpoints?operator=${operator}`)).json);
  expect(await of('acme')).toContain(description);
  expect(await of('globex')).not.toContain(description);
  // What follows shows what the form has done.
  expect((await browser.get('/endpoints')).text).toContain(description);
});

test('a form that was made to name another operator than its page showed is refused', async () => {
  const browser = await signedIn(ADMIN);
  await browser.get('/?operator=acme');
  const forged = (await browser.csrf()).replace('acme', 'globex');
  const to = `/deliveries/${globex.delivery}/replay`;
  expect((await browser.send(to, { csrf: forged, reason: 'x' })).status).toBe(403);
});

test('a part of a page that reads itself again stays with its operator, and chooses for no other tab', async () => {
  const browser = await signedIn(ADMIN);
  const { text } = await browser.get(`/deliveries/${acme.delivery}?operator=acme`);
  const asked = attributeOf(text, 'hx-get');
  const values = new URLSearchParams(JSON.parse(attributeOf(text, 'hx-vals'))); // htmx adds them
  await browser.get('/deliveries?operator=globex'); // the other tab
  const part = await browser.get(`${asked}?${values.toString()}`, { 'hx-request': 'true' });
  expect(part.text).toContain('id="delivery"');
  expect((await browser.get('/deliveries')).text).toContain(globex.eventId);
});
