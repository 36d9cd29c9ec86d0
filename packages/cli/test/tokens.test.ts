import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createRig, type Rig } from './support.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.close());

const create = (...args: string[]) => rig.cli(['tokens', 'create', '--name', 'night shift', ...args]);

test('a token is shown once, listed without its value, and revoked with a reason', async () => {
  const made = (await create('--scope', 'operator:acme', '--json')).json();
  expect(made).toMatchObject({ scope: 'operator:acme', state: 'active', createdBy: 'cli:tess' });
  expect(made.expiresAt - made.createdAt).toBe(90 * 86_400_000);
  const listed = await rig.cli(['tokens', 'list']);
  expect(listed.stdout).toMatch(new RegExp(`${made.id} +active +operator:acme +night shift +never`));
  expect(listed.stdout).not.toContain(made.value);

  const rehearsal = await rig.cli(['tokens', 'revoke', made.id, '--reason', 'lost', '--dry-run', '--json']);
  expect(rehearsal.json()).toMatchObject({ dryRun: true, changed: true, token: { state: 'active' } });
  const revoked = await rig.cli(['tokens', 'revoke', made.id, '--reason', 'lost', '--json']);
  expect(revoked.json()).toMatchObject({ changed: true, token: { state: 'revoked' } });
  const entries = (await rig.audit()).filter(({ token }) => token === made.id);
  expect(entries.map(({ action, actor, reason }) => [action, actor, reason])).toEqual([
    ['token.create', 'cli:tess', undefined],
    ['token.revoke', 'cli:tess', 'lost'],
  ]);
});

test('a rehearsal makes no token and shows no value', async () => {
  const before = (await rig.cli(['tokens', 'list', '--json'])).json().tokens.length;
  const { code, stdout } = await create('--scope', 'publish', '--dry-run', '--json');
  expect([code, stdout.includes('bwt_')]).toEqual([0, false]);
  expect((await rig.cli(['tokens', 'list', '--json'])).json().tokens).toHaveLength(before);
});

test.each([
  ['a scope that is none', ['--scope', 'root'], 2, 'Expected admin, operator:<id>'],
  ['no scope', [], 2, '--scope'],
  ['an end that is none', ['--scope', 'admin', '--expires-in', 'soon'], 2, 'or never'],
])('%s is refused with what to give instead', async (_what, args, code, message) => {
  const run = await create(...args);
  expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test('a token that is not there cannot be revoked', async () => {
  const { code, stderr } = await rig.cli(['tokens', 'revoke', 'tok_none', '--reason', 'x']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('There is no token tok_none')]);
});
