/** What we read of Jest's --json report. */
export interface JestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  /** Files that could not be loaded: their tests are counted nowhere. */
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export const NO_REPORT: JestReport = {
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
  testResults: [],
};

/** Two runs as one. */
export const mergeReports = (one: JestReport, other: JestReport): JestReport => ({
  numPassedTests: one.numPassedTests + other.numPassedTests,
  numFailedTests: one.numFailedTests + other.numFailedTests,
  numPendingTests: one.numPendingTests + other.numPendingTests,
  numTodoTests: one.numTodoTests + other.numTodoTests,
  numRuntimeErrorTestSuites: one.numRuntimeErrorTestSuites + other.numRuntimeErrorTestSuites,
  testResults: [...one.testResults, ...other.testResults],
});

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Lines to print before the figures. */
  readonly notes: readonly string[];
}

export interface TallyOptions {
  /** Names of static checks that failed; each counts as a failure. */
  readonly failedChecks: readonly string[];
  readonly jestExitCode: number;
  /** -t was given: Jest calls every test that does not match skipped. */
  readonly isFiltered: boolean;
}

/** Written by test/support/test-unless.ts at the end of a title. */
const REASON = / \[skipped: (.+)\]$/;

/**
 * Counts a run. A run without a single test, and one that Jest failed for a reason that no test shows (a coverage
 * threshold, a broken set-up, an interruption), has failed too.
 */
export function tally(report: JestReport, options: TallyOptions): Tally {
  const { failedChecks, jestExitCode, isFiltered } = options;
  const passed = report.numPassedTests;
  const skipped = report.numPendingTests + report.numTodoTests;
  const notes = skippedNotes(report, isFiltered);
  notes.push(...failedChecks.map((name) => `failed: ${name}, see above`));
  let failed = failedChecks.length + report.numFailedTests + report.numRuntimeErrorTestSuites;
  if (passed + report.numFailedTests + report.numRuntimeErrorTestSuites === 0) {
    failed += 1;
    notes.push(`failed: no test ran (jest ended with code ${jestExitCode})`);
  } else if (jestExitCode !== 0 && report.numFailedTests + report.numRuntimeErrorTestSuites === 0) {
    failed += 1;
    notes.push(`failed: jest ended with code ${jestExitCode} although no test failed, see above`);
  }
  return { passed, failed, skipped, notes };
}

function skippedNotes(report: JestReport, isFiltered: boolean): string[] {
  const names = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'pending' || status === 'todo')
    .map(({ fullName }) => fullName);
  const listed = isFiltered ? names.filter((name) => REASON.test(name)) : names;
  return listed.map(
    (name) => `skipped: ${name.replace(REASON, '')} (${REASON.exec(name)?.[1] ?? 'no reason given'})`,
  );
}

/** The notes and, as the last line, `N passed, N failed` (`, N skipped` when there are any). */
export function renderSummary({ passed, failed, skipped, notes }: Tally): string {
  const figures = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  return ['', ...notes, figures].join('\n');
}
