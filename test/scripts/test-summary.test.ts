import { expect, test } from '@jest/globals';
import {
  type JestReport,
  mergeReports,
  NO_REPORT,
  renderSummary,
  tally,
} from '../../scripts/test-summary.ts';

const report = (changed: Partial<JestReport>): JestReport => ({ ...NO_REPORT, ...changed });
const clean = { failedChecks: [], jestExitCode: 0, isFiltered: false };
const lines = (changed: Partial<JestReport>, options = {}): string[] =>
  renderSummary(tally(report(changed), { ...clean, ...options }))
    .split('\n')
    .slice(1);

const skipped = (...names: string[]): Partial<JestReport> => ({
  numPassedTests: 3,
  numPendingTests: names.length,
  testResults: [{ assertionResults: names.map((fullName) => ({ fullName, status: 'pending' })) }],
});

test('the last line counts what passed and what failed', () => {
  expect(lines({ numPassedTests: 12 })).toEqual(['12 passed, 0 failed']);
  expect(lines({ numPassedTests: 12, numFailedTests: 2 }, { jestExitCode: 1 })).toEqual([
    '12 passed, 2 failed',
  ]);
});

test('a static check that failed is a failure', () => {
  expect(lines({ numPassedTests: 12 }, { failedChecks: ['lint', 'types'] })).toEqual([
    'failed: lint, see above',
    'failed: types, see above',
    '12 passed, 2 failed',
  ]);
});

test('a test file that cannot be loaded is a failure', () => {
  expect(lines({ numPassedTests: 1, numRuntimeErrorTestSuites: 1 }, { jestExitCode: 1 })).toEqual([
    '1 passed, 1 failed',
  ]);
});

test('a run without a test is a failure', () => {
  expect(lines({})).toEqual(['failed: no test ran (jest ended with code 0)', '0 passed, 1 failed']);
  expect(lines(skipped('a test')).at(-1)).toBe('3 passed, 0 failed, 1 skipped');
  expect(lines({ ...skipped('a test'), numPassedTests: 0 }).at(-1)).toBe('0 passed, 1 failed, 1 skipped');
});

test('a run that Jest failed for a reason of its own is a failure', () => {
  expect(lines({ numPassedTests: 1 }, { jestExitCode: 1 }).at(-1)).toBe('1 passed, 1 failed');
});

test('every skipped test is listed with its reason', () => {
  expect(lines(skipped('an image starts [skipped: docker is not installed]', 'another'))).toEqual([
    'skipped: an image starts (docker is not installed)',
    'skipped: another (no reason given)',
    '3 passed, 0 failed, 2 skipped',
  ]);
});

test('with -t, tests that merely do not match are counted but not listed', () => {
  expect(
    lines(skipped('an image starts [skipped: docker is not installed]', 'another'), { isFiltered: true }),
  ).toEqual(['skipped: an image starts (docker is not installed)', '3 passed, 0 failed, 2 skipped']);
});

test('two runs are counted as one, and a failure of either fails', () => {
  const both = mergeReports(
    report({ numPassedTests: 3 }),
    report({ ...skipped('no engine'), numFailedTests: 1 }),
  );
  expect(
    renderSummary(tally(both, { ...clean, jestExitCode: 1 }))
      .split('\n')
      .at(-1),
  ).toBe('6 passed, 1 failed, 1 skipped');
});
