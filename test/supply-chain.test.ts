import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const root = resolve(import.meta.dirname, '..');
const read = (file: string): unknown => JSON.parse(readFileSync(resolve(root, file), 'utf8'));

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}
const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> };
const installed = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
);
const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Licences that ask for no more than a notice. */
const PERMISSIVE =
  /^\(?(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|Unlicense|CC0-1\.0|Python-2\.0)( (OR|AND) [\w.-]+)*\)?$/;

test('what runs in production has a licence that asks for no more than a notice', () => {
  const shipped = installed.filter(([, { dev }]) => !dev);
  expect(shipped.length).toBeGreaterThan(50);
  expect(
    shipped
      .filter(([, { license }]) => !PERMISSIVE.test(license ?? ''))
      .map(([path, { license }]) => `${nameOf(path)}: ${license}`),
  ).toEqual([]);
});

test('only the package that brings Node may run a script when it is installed; every other one is refused by name', () => {
  const withScript = new Set(
    installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path)),
  );
  expect([...withScript].filter((name) => !(name in allowScripts))).toEqual([]);
  expect(Object.entries(allowScripts).filter(([, allowed]) => allowed)).toEqual([['node', true]]);
});

test('every dependency is locked to one version', () => {
  for (const [path, { version }] of installed) expect(`${nameOf(path)} ${version}`).toMatch(/ \d+\.\d+\.\d+/);
  const manifests = Object.keys(packages).filter((path) => !path.includes('node_modules/'));
  for (const manifest of manifests) {
    const { dependencies = {}, devDependencies = {} } = read(
      `${manifest ? `${manifest}/` : ''}package.json`,
    ) as Record<string, Record<string, string>>;
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies }))
      expect(`${name} ${range}`).toMatch(/ \d+\.\d+\.\d+(-[\w.]+)?$/);
  }
});
