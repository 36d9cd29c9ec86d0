import { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import { expect, test } from '@jest/globals';
import { acceptsWarning, readError } from '../src/tryton-errors.ts';

const configOf = (changes: object = {}): TrytonAdapter =>
  TrytonAdapter.parse({
    kind: 'tryton',
    baseUrl: 'http://127.0.0.1:8000',
    database: 'erp',
    login: 'connector',
    password: 'secret',
    ...changes,
  });
const read = (error: readonly unknown[], changes?: object): ReturnType<typeof readError> =>
  readError(error, configOf(changes));

// As Tryton 6.0.29 on PostgreSQL 15 and on SQLite gave them.
test.each([
  [['UserError', ['A value is required for field "Supplier" in "Supplier Shipment".', '', null]], 'rejected'],
  [
    ['UserError', ['To modify stock move "1u Milk" you must reopen period "2026-11-28".', '', null]],
    'rejected',
  ],
  [['UserError', ['You are not allowed to access "User".', '', null]], 'failed'],
  [['UserError', ['Calling button "approve on "account.payment" is not allowed.', '', null]], 'failed'],
  [
    ['UserWarning', ['2825f.effective_date_future', 'The moves have effective dates in the future.', '']],
    'warning',
  ],
  [['ConcurrencyException', 'Records were modified in the meanwhile'], 'failed'],
  [['could not serialize access due to concurrent update\n', ''], 'failed'],
  [['deadlock detected\nDETAIL: Process 1 waits', ''], 'failed'],
  [['database is locked', ''], 'failed'],
  [
    ['connection to server at "127.0.0.1", port 5432 failed: Connection refused\n\tIs the server …', ''],
    'failed',
  ],
  [['duplicate key value violates unique constraint "shipment_in_reference_uniq"\nDETAIL: …', ''], 'exists'],
] as const)('%j means %s', (error, kind) => {
  expect(read(error)).toMatchObject({ kind });
});

test.each([
  [['server closed the connection unexpectedly\n\tThis probably means …', '']], // maybe after the commit
  [['connection already closed', '']],
  [["'external_id'", '']],
  [["can't multiply sequence by non-int of type 'float'", '']],
  [[]],
  [[null, null]],
])('%j that nobody described proves nothing', (error) => {
  expect(read(error)).toMatchObject({ kind: 'unknown' });
});

test('only a collision may be tried again at once', () => {
  expect(read(['could not serialize access due to concurrent update', ''])).toMatchObject({
    collision: true,
  });
  expect(read(['ConcurrencyException', 'Records were modified'])).toMatchObject({ collision: true });
  expect(read(['UserError', ['You are not allowed to access "User".']])).toMatchObject({
    collision: false,
    class: 'http_auth',
  });
});

test('the words of the configuration stand above what the adapter knows, and `failed` above `rejected`', () => {
  const locked = ['UserError', ['To modify stock move "1u" you must reopen period "2026-11-28".', '', null]];
  expect(read(locked, { errors: { failed: ['Reopen Period'] } })).toMatchObject({ kind: 'failed' });
  expect(read(["'external_id'", ''], { errors: { rejected: ['external_id'] } })).toMatchObject({
    kind: 'rejected',
  });
  const both = { errors: { rejected: ['reopen period'], failed: ['reopen period'] } };
  expect(read(locked, both)).toMatchObject({ kind: 'failed' });
});

test('words are one line and short: they go into attempt rows', () => {
  const { words } = read(['UserError', [`two\nlines ${'x'.repeat(1_000)}`, 'and why', null]]);
  expect(words).toMatch(/^two lines x+$/);
  expect(words).toHaveLength(300);
});

test('a warning is accepted by its key, by its whole name, or where all are', () => {
  const accept = (...names: string[]): boolean =>
    acceptsWarning('2825f.effective_date_future', configOf({ warnings: { accept: names } }));
  expect(accept()).toBe(false);
  expect(accept('done')).toBe(false);
  expect(accept('effective_date_future')).toBe(true);
  expect(accept('2825f.effective_date_future')).toBe(true);
  expect(accept('*')).toBe(true);
});

test('a configuration is told all of its mistakes at once, and never its password', () => {
  const result = TrytonAdapter.safeParse({
    kind: 'tryton',
    baseUrl: 'http://user:hidden@erp.example/?a=1',
    database: 'no/path',
    login: '',
    password: '',
    loginPause: '1s',
    warnings: { accept: [], otherwise: 'ignore' },
    errors: { failed: ['x'] },
    passwort: 'hidden',
  });
  expect(result.success).toBe(false);
  const paths = result.error?.issues.map(({ path }) => path.join('.'));
  expect(paths).toEqual(
    expect.arrayContaining([
      'baseUrl',
      'database',
      'login',
      'password',
      'loginPause',
      'warnings.otherwise',
      'errors.failed.0',
    ]),
  );
  const told = result.error?.issues.map(({ message }) => message).join('\n');
  expect(told).toMatch(/passwort/);
  expect(told).not.toMatch(/hidden/);
});
