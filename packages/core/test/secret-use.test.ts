import { expect, test } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import type { SecretUse, SourceUse } from '@breakwater/store/source-use';
import { judgeSecrets } from '../src/secret-use.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 30);
const ago = (days: number): number => NOW - days * DAY;

const hmac = (...secrets: string[]) => ({
  kind: 'signature',
  algorithm: 'hmac-sha256',
  signature: { header: 'x-signature', encoding: 'hex' },
  ...(secrets.length > 0 && { secrets }),
});
const bearer = (...secrets: string[]) => ({ kind: 'sharedSecret', in: 'bearer', secrets });

const source = (secrets: readonly object[], changes: object = {}): Source =>
  Source.parse({
    secrets: secrets.map((secret) => ({ value: 'value', ...secret })),
    auth: hmac(),
    eventId: { pointer: '/id' },
    ...changes,
  });

/** Days ago of the last use; null: never used, known for 30 days. */
function judge(of: Source, used: Readonly<Record<string, number | null>>) {
  const use: SourceUse = {
    observedSince: ago(30),
    lastSeenAt: undefined,
    lastAcceptedAt: undefined,
    hours: new Map(),
    ofSecret: ({ id }): SecretUse => {
      const days = used[id];
      if (days === undefined) return { knownSince: undefined, lastUsedAt: undefined };
      return { knownSince: ago(30), lastUsedAt: days === null ? undefined : ago(days) };
    },
  };
  return judgeSecrets(of, use, NOW, 7 * DAY);
}
const states = (of: Source, used: Readonly<Record<string, number | null>>) =>
  Object.fromEntries(judge(of, used).map(({ id, state }) => [id, state]));

const two = source([{ id: 'current' }, { id: 'old' }]);

test('a secret that was not used for long while another was is removable, and says which', () => {
  const [current, old] = judge(two, { current: 0, old: 8 });
  expect(current).toMatchObject({ state: 'in_use', removable: false, insteadUsed: [] });
  expect(old).toMatchObject({
    state: 'removable',
    removable: true,
    insteadUsed: ['current'],
    lastUsedAt: ago(8),
  });
});

test('so is one that was never used since it is known', () => {
  expect(states(two, { current: 1, old: null })).toEqual({ current: 'in_use', old: 'removable' });
});

test('a secret that was used lately is in use', () => {
  expect(states(two, { current: 0, old: 3 })).toEqual({ current: 'in_use', old: 'in_use' });
});

test('where nothing comes nothing is removable', () => {
  expect(states(two, { current: 20, old: 22 })).toEqual({ current: 'waiting', old: 'waiting' });
  expect(states(two, { current: null, old: null })).toEqual({ current: 'waiting', old: 'waiting' });
});

test('the only secret in force stays, and so does what ingest does not know yet', () => {
  expect(states(source([{ id: 'current' }]), { current: 60 })).toEqual({ current: 'only_one' });
  const ended = source([{ id: 'current' }, { id: 'old', notAfter: '2026-11-01' }]);
  expect(states(ended, { current: 60, old: 40 })).toEqual({ current: 'only_one', old: 'expired' });
  expect(states(two, { current: 0 })).toEqual({ current: 'in_use', old: 'unknown' });
});

test('windows are told: one that is over can go, one that has not begun stays', () => {
  const planned = source([
    { id: 'over', notAfter: '2026-11-29' },
    { id: 'current' },
    { id: 'next', notBefore: '2026-12-24' },
  ]);
  expect(
    judge(planned, { over: 2, current: 0, next: null }).map(({ state, removable }) => [state, removable]),
  ).toEqual([
    ['expired', true],
    ['only_one', false],
    ['not_yet', false],
  ]);
});

test('traffic of another check does not make a secret removable', () => {
  const both = source([{ id: 'sign' }, { id: 'token' }, { id: 'token-old' }], {
    auth: [hmac('sign'), bearer('token', 'token-old')],
  });
  expect(states(both, { sign: 0, token: null, 'token-old': null })).toEqual({
    sign: 'only_one',
    token: 'waiting',
    'token-old': 'waiting',
  });
  expect(states(both, { sign: 0, token: 0, 'token-old': 9 })).toMatchObject({ 'token-old': 'removable' });
});

test('a secret that no check uses can go', () => {
  const unneeded = source([{ id: 'a' }, { id: 'b' }], { auth: [hmac('a')] });
  expect(judge(unneeded, { a: 0, b: null })[1]).toMatchObject({ state: 'unneeded', removable: true });
});

test('a secret of two checks can go only where both have another that was used', () => {
  const secrets = [{ id: 'shared' }, { id: 'one' }, { id: 'two' }];
  const alone = source(secrets, { auth: [hmac('shared', 'one'), bearer('shared')] });
  expect(states(alone, { shared: 9, one: 0, two: 0 })).toMatchObject({ shared: 'only_one' });
  const both = source(secrets, { auth: [hmac('shared', 'one'), bearer('shared', 'two')] });
  expect(states(both, { shared: 9, one: 0, two: null })).toMatchObject({ shared: 'waiting' });
  expect(states(both, { shared: 9, one: 0, two: 1 })).toMatchObject({ shared: 'removable' });
});
