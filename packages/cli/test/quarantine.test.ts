import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeQuarantine } from '@breakwater/store/quarantine';
import { CONFIG, createRig, type Rig } from './support.ts';

/** What a terminal would obey: an escape sequence, C1, a direction mark, a line of its own. */
const HOSTILE = '\u001b[2J\u009b31m\u202e\u0007\r\nok: accepted';
const CONTROLS = /(?!\n)[\p{Cc}\p{Cf}]/u;
const BODY = JSON.stringify({ id: `e1${HOSTILE}` });

const TWO = CONFIG.replace(
  'erpTargets:',
  `  elsewhere:
    operator: acme
    secrets: [{ id: only, value: acme-secret }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: { pointer: /id }
erpTargets:`,
);

let rig: Rig;
const keep = (id: string, source: string, operator: string, secret: string, body = BODY) =>
  writeQuarantine(
    rig.redis,
    rig.keys,
    {
      id,
      operator,
      source,
      receivedAt: Date.now(),
      code: 'signature_invalid',
      message: `It does not match.${HOSTILE}`,
      method: 'POST',
      query: `a=${HOSTILE}`,
      headers: {
        'x-signature': [createHmac('sha256', secret).update(body).digest('hex')],
        'content-type': [HOSTILE],
      },
      body: Buffer.from(body),
    },
    false,
  );
beforeAll(async () => {
  rig = await createRig(TWO);
  await keep('mine', 'shop', 'default', 'a former secret', BODY.replaceAll('\\u001b', '\u001b'));
  await keep('theirs', 'elsewhere', 'acme', 'acme-secret');
});
afterAll(() => rig.close());

test('what strangers sent cannot command the terminal that lists or shows it', async () => {
  for (const args of [
    ['list'],
    ['list', '--json'],
    ['show', 'mine'],
    ['show', 'mine', '--body'],
    ['show', 'mine', '--body', '--json'],
    ['retry', 'mine'],
    ['retry', '--all', '--dry-run', '--json'],
  ]) {
    const { stdout, stderr } = await rig.cli(['quarantine', ...args]);
    expect(stdout).toContain('mine');
    expect([args, CONTROLS.exec(stdout + stderr)?.[0]]).toEqual([args, undefined]);
    expect(stdout).not.toMatch(/^ok: accepted/m);
  }
});

test('neither signatures nor secrets are printed', async () => {
  for (const args of [['list'], ['list', '--json'], ['show', 'mine'], ['show', 'mine', '--json']]) {
    const { stdout } = await rig.cli(['quarantine', ...args]);
    expect(stdout).not.toMatch(/[0-9a-f]{64}|shop-secret|a former secret/);
  }
});

test('an operator sees, shows and retries its own alone', async () => {
  const ids = async (...args: string[]) =>
    (await rig.cli(['quarantine', 'list', '--json', ...args]))
      .json()
      .entries.map(({ id }: { id: string }) => id);
  expect(await ids()).toEqual(['mine']);
  expect(await ids('--operator', 'acme')).toEqual(['theirs']);
  for (const args of [
    ['show', 'theirs'],
    ['retry', 'theirs'],
    ['retry', 'theirs', '--dry-run'],
    ['list', '--source', 'elsewhere'],
  ])
    expect([args, (await rig.cli(['quarantine', ...args])).code]).toEqual([args, 3]);
  // Not even that it exists, or of which source it is.
  expect((await rig.cli(['quarantine', 'show', 'theirs'])).stderr).not.toContain('elsewhere');
  const all = (await rig.cli(['quarantine', 'retry', '--all', '--dry-run', '--json'])).json().results;
  expect(all.map(({ id }: { id: string }) => id)).toEqual(['mine']);
});

test('one that is still wrong stays, and the exit code says so', async () => {
  const { code, stdout } = await rig.cli(['quarantine', 'retry', 'mine', '--json']);
  expect([code, JSON.parse(stdout).results[0].result.code]).toEqual([4, 'signature_invalid']);
  expect((await rig.cli(['quarantine', 'list', '--json'])).json().entries).toHaveLength(1);
});

test('the ids of events cannot command the terminal either', async () => {
  await keep('right', 'shop', 'default', 'shop-secret');
  for (const args of [
    ['show', 'right'],
    ['retry', 'right', '--dry-run'],
  ]) {
    const { code, stdout } = await rig.cli(['quarantine', ...args]);
    expect([code, CONTROLS.exec(stdout)?.[0]]).toEqual([0, undefined]);
    expect(stdout).toContain(String.raw`would be accepted: e1\u001b[2J`);
  }
});
