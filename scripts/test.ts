// `npm test`: everything that CI runs. With arguments (npm test -- packages/store -t alarms) only Jest, with them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureRedisServer } from '@breakwater/local-stack/redis-binary';
import { AppError } from '@breakwater/runtime/errors';
import { installDebianTools } from '../test/support/debian-tools.ts';
import { runChild } from './child.mjs';
import { type JestReport, mergeReports, NO_REPORT, renderSummary, tally } from './test-summary.ts';

const root = resolve(import.meta.dirname, '..');

/** Where the tests in a browser leave pictures of the pages. */
const SCREENSHOTS = 'test-output/screenshots';

const CHECKS = [
  { name: 'format', args: ['node_modules/oxfmt/bin/oxfmt', '--check', '.'] },
  { name: 'lint', args: ['node_modules/oxlint/bin/oxlint'] },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '--noEmit'] },
];

/** Questions to Jest, which are answered without running a test. */
const QUESTIONS = ['--help', '-h', '--version', '-v', '--listTests', '--showConfig'];

/** Runs the static checks; returns the names of those that failed. */
async function runChecks(): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { name, args } of CHECKS) {
    const { code, output, interrupted } = await runChild(process.execPath, args, {
      cwd: root,
      capture: true,
    });
    if (interrupted) break;
    console.log(code === 0 ? `${name}: ok` : `${name}: failed\n${output}`);
    if (code !== 0) failed.push(name);
  }
  return failed;
}

async function runJest(
  args: readonly string[],
): Promise<{ readonly code: number; readonly interrupted: boolean; readonly report: JestReport }> {
  const directory = mkdtempSync(join(tmpdir(), 'breakwater-jest-'));
  const outputFile = join(directory, 'report.json');
  const command = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
  ];
  try {
    const { code, interrupted } = await runChild(
      process.execPath,
      [...command, '--json', `--outputFile=${outputFile}`, ...args],
      { cwd: root },
    );
    return { code, interrupted, report: readReport(outputFile) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Jest writes none when it could not begin, or was interrupted. */
function readReport(path: string): JestReport {
  try {
    const report: JestReport = JSON.parse(readFileSync(path, 'utf8'));
    return report;
  } catch {
    return NO_REPORT;
  }
}

async function main(args: readonly string[]): Promise<number> {
  try {
    ensureRedisServer(process, console.log);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    console.error(error.message);
    return 1;
  }
  if (args.length === 0) installDebianTools(console.log);
  const failedChecks = args.length === 0 ? await runChecks() : [];
  const tests = await runJest(args);
  // Last and alone: containers would take the time that the other tests measure.
  const containers =
    args.length === 0 && !tests.interrupted
      ? await runJest(['--config', 'jest.compose.config.ts'])
      : undefined;
  const code = tests.code || (containers?.code ?? 0);
  const report = containers ? mergeReports(tests.report, containers.report) : tests.report;
  if (args.some((arg) => QUESTIONS.includes(arg))) return code;
  const isFiltered = args.some((arg) => arg === '-t' || arg.startsWith('--testNamePattern'));
  const result = tally(report, { failedChecks, jestExitCode: code, isFiltered });
  if (existsSync(resolve(root, SCREENSHOTS))) console.log(`pictures of the console's pages: ${SCREENSHOTS}`);
  console.log(renderSummary(result));
  return result.failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
