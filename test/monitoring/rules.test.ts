import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { PAGES } from '../../services/console/src/ui/ui.ts';
import { debianTool } from '../support/debian-tools.ts';
import { testUnless } from '../support/test-unless.ts';

const root = resolve(import.meta.dirname, '../..');
const tests = join(root, 'infra/prometheus/tests');
const rulesFile = join(root, 'infra/prometheus/rules/breakwater.rules.yml');
const promtool = debianTool('promtool');

const testHere = testUnless('reason' in promtool ? promtool.reason : undefined);

testHere(
  'every alert fires when it should and keeps quiet when it should',
  () => {
    if ('reason' in promtool) return;
    const files = readdirSync(tests).map((file) => join(tests, file));
    const { status, stdout, stderr } = spawnSync(promtool.path, ['test', 'rules', ...files], {
      encoding: 'utf8',
    });
    expect([status, stdout, stderr].join('\n')).toMatch(/^0\n/);
    expect(stdout.match(/SUCCESS/g)).toHaveLength(files.length);
  },
  60_000,
);

/** Names of the alerts, in the order of the file. */
const alerts = [
  ...new Set([...readFileSync(rulesFile, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name)),
];

test('every alert has a test, a severity, an owner, a summary and a runbook that exists', () => {
  const tested = readdirSync(tests)
    .map((file) => readFileSync(join(tests, file), 'utf8'))
    .join('\n');
  const runbooks = readdirSync(join(root, 'docs/runbooks'));
  expect(alerts.length).toBeGreaterThan(10);
  for (const block of readFileSync(rulesFile, 'utf8')
    .split(/(?=- alert: )/)
    .slice(1)) {
    const name = /- alert: (\w+)/.exec(block)?.[1] ?? '';
    expect({ name, tested: tested.includes(name) }).toEqual({ name, tested: true });
    expect(block).toMatch(/severity: (page|notify)\n/);
    expect(block).toMatch(/owner: operations\n|group_left \(owner\)/);
    expect(block).toMatch(/summary: ./);
    expect(block).toContain(`runbook_url: docs/runbooks/${name}.md`);
    expect(runbooks).toContain(`${name}.md`);
  }
});

const ADDRESS = /\{\{ \$externalLabels\.console \}\}(\/(?:\{\{[^}]*\}\}|[^\s{])*)/g;
/** Is there such a page of the console? Parameters may be anything. */
const isPage = (address: string): boolean => {
  const { pathname } = new URL(address, 'http://console');
  return PAGES.some(
    ({ method, path }) =>
      method === 'get' && new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(pathname),
  );
};

test('every address in an alert is a page of the console, for whoever follows it from a pager', () => {
  const addresses = [...readFileSync(rulesFile, 'utf8').matchAll(ADDRESS)].map(([, address = '']) =>
    address.replaceAll(/\{\{[^}]*\}\}/g, 'some'),
  );
  expect(addresses.length).toBeGreaterThan(4);
  expect(addresses.filter((address) => !isPage(address))).toEqual([]);
});

test('every page of the console that a runbook names exists', () => {
  const ofProcesses = ['/livez', '/readyz', '/metrics'];
  const named = readdirSync(join(root, 'docs/runbooks')).flatMap((file) =>
    [...readFileSync(join(root, 'docs/runbooks', file), 'utf8').matchAll(/`(\/[^`]*)`/g)].map(
      ([, address = '']) => address.replaceAll(/<[^>]*>/g, 'some'),
    ),
  );
  const pages = named.filter((address) => !ofProcesses.includes(address));
  expect(pages.length).toBeGreaterThan(8);
  expect(pages.filter((address) => !isPage(address))).toEqual([]);
});

test('every runbook belongs to an alert', () => {
  const names = readdirSync(join(root, 'docs/runbooks')).map((file) => file.replace(/\.md$/, ''));
  expect(new Set(names.filter((name) => name !== 'README'))).toEqual(new Set(alerts));
});
