import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMIN, type Console, startConsole } from './api-rig.ts';
import { type Browser, createBrowser, filledIn, formTo, type Seen } from './ui-rig.ts';

let console: Console;
let admin: Browser;
beforeAll(async () => {
  console = await startConsole();
  admin = await signedIn(ADMIN);
});
afterAll(() => console?.close());

const signedIn = async (token: string): Promise<Browser> => {
  const browser = createBrowser(`http://127.0.0.1:${console.port}`);
  await browser.signIn(token);
  return browser;
};
const tokens = async (): Promise<{ id: string; name: string; scope: string; state: string }[]> =>
  (await console.call('GET', '/api/v1/tokens')).json.tokens;
const submit = async (path: string, values: Readonly<Record<string, string>>): Promise<Seen> =>
  admin.send(path, filledIn(formTo((await admin.get(path)).text, path), values));
const valueIn = (text: string): string => /bwt_[\w-]+/.exec(text)?.[0] ?? '';

test('a token is made with its scope and end, works, and its value is shown this once', async () => {
  const before = Date.now();
  const made = await submit('/tokens/new', {
    name: 'night <b>',
    role: 'operator',
    operator: 'acme',
    expires: '2h',
  });
  expect(made.status).toBe(200);
  const value = valueIn(made.text);
  const { json } = await console.call('GET', '/api/v1/tokens');
  const token = json.tokens.find(({ name }: { name: string }) => name === 'night <b>');
  expect(token).toMatchObject({ scope: 'operator:acme', state: 'active' });
  expect(token.expiresAt - before).toBeGreaterThanOrEqual(2 * 3_600_000);
  expect(token.expiresAt - Date.now()).toBeLessThanOrEqual(2 * 3_600_000);
  const browser = await signedIn(value);
  expect((await browser.get('/')).text).toContain('<strong>acme</strong>');
  const list = (await admin.get('/tokens')).text;
  for (const words of ['night &lt;b&gt;', 'operator:acme', 'active', token.id]) expect(list).toContain(words);
  expect(list).not.toContain(value);
  expect(list).not.toContain('night <b>');
});

test('a form that is sent twice makes one token and shows the same value; never is an answer that has to be ticked', async () => {
  const page = await admin.get('/tokens/new');
  const form = filledIn(formTo(page.text, '/tokens/new'), { name: 'twice', role: 'read', never: 'true' });
  const [first, second] = [await admin.send('/tokens/new', form), await admin.send('/tokens/new', form)];
  expect(valueIn(second.text)).toBe(valueIn(first.text));
  expect((await tokens()).filter(({ name }) => name === 'twice')).toMatchObject([
    { scope: 'read', expiresAt: null },
  ]);
});

test('what is wrong is said at once, with the form as it was filled in, and no token is made', async () => {
  const before = await tokens();
  const filled = { name: ' ', role: 'operator', operator: 'a:b', expires: 'soon' };
  const refused = await submit('/tokens/new', filled);
  expect(refused.status).toBe(400);
  for (const label of ['Name', 'What it may do', 'Expires in'])
    expect(refused.text).toMatch(new RegExp(`<li>\\s*${label}: `));
  expect(Object.fromEntries(formTo(refused.text, '/tokens/new'))).toMatchObject(filled);
  expect(await tokens()).toEqual(before);
});

test('a token is revoked only with a reason and a confirmation', async () => {
  const { token } = await console.token('read');
  const to = `/tokens/${token.id}/revoke`;
  expect((await admin.get('/tokens')).text).toContain(`href="${to}"`);
  for (const values of [{ reason: 'lost' }, { confirmed: 'true' }, { reason: ' ', confirmed: 'true' }]) {
    const refused = await submit(to, values);
    expect([refused.status, refused.text.includes('role="alert"')]).toEqual([400, true]);
  }
  const state = async () => (await tokens()).find(({ id }) => id === token.id)?.state;
  expect(await state()).toBe('active');
  expect((await submit(to, { reason: 'lost', confirmed: 'true' })).location).toBe(
    '/tokens?notice=token_revoked',
  );
  expect(await state()).toBe('revoked');
  const list = (await admin.get('/tokens')).text;
  expect(list).not.toContain(`href="${to}"`);
  const row = list.split('<tr>').find((each) => each.includes(token.id)) ?? '';
  expect(row).toMatch(/<td>revoked<\/td>/); // not when it would have expired
  expect((await admin.get('/tokens/tok_none/revoke')).status).toBe(404);
});

test.each(['operator:acme', 'read', 'read:acme'])(
  'to a token of scope %s no menu offers tokens, every page of them is refused, and it makes and revokes none',
  async (scope) => {
    const { token, value } = await console.token(scope);
    const browser = await signedIn(value);
    expect((await browser.get('/')).text).not.toContain('href="/tokens"');
    expect((await admin.get('/')).text).toContain('href="/tokens"');
    const before = await tokens();
    const csrf = await browser.csrf();
    for (const path of ['/tokens', '/tokens/new', `/tokens/${token.id}/revoke`, '/tokens/tok_none/revoke'])
      expect([path, (await browser.get(path)).status]).toEqual([path, 403]);
    const form = { csrf, name: 'mine', role: 'admin', expires: '1h', reason: 'x', confirmed: 'true' };
    for (const path of ['/tokens/new', `/tokens/${token.id}/revoke`])
      expect([path, (await browser.send(path, form)).status]).toEqual([path, 403]);
    const plain = (list: object[]) => list.map((each) => ({ ...each, lastUsedAt: null }));
    expect(plain(await tokens())).toEqual(plain(before));
  },
);
