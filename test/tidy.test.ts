import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');

/** Which workspace may import which others. A line missing here is an import that fails the build. */
const LIBRARIES = ['contracts', 'runtime'];
const ALL_PACKAGES = [...LIBRARIES, 'store', 'queue', 'http', 'signatures', 'erp', 'core'];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'packages/contracts': [],
  'packages/runtime': ['contracts'], // the configuration's schema is contracts'
  'packages/store': LIBRARIES,
  'packages/http': LIBRARIES,
  'packages/signatures': LIBRARIES,
  'packages/queue': [...LIBRARIES, 'store'],
  'packages/erp': [...LIBRARIES, 'http'],
  'packages/core': ALL_PACKAGES.filter((name) => name !== 'core'),
  'packages/cli': ALL_PACKAGES,
  'services/ingest': ALL_PACKAGES,
  'services/dispatcher': ALL_PACKAGES,
  'services/erp-consumer': ALL_PACKAGES,
  'services/console': ALL_PACKAGES,
  'infra/erp-simulator': ['runtime'],
  'infra/local-stack': ['runtime'],
  'examples/receiver': [], // it is there to be copied
};

/** A library has one owner, so that its quirks are dealt with in one place. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  bullmq: ['packages/queue'],
  got: ['packages/http'],
  opossum: ['services/erp-consumer'],
  jsonata: ['packages/erp', 'packages/contracts'], // contracts looks at the syntax alone
  'prom-client': ['packages/runtime'],
  pino: ['packages/runtime'],
  ioredis: ['packages/store', 'packages/queue'],
  commander: ['packages/cli'],
};

const LINES_MAX = 300;

const files = globSync('{packages,services,infra,examples}/*/src/**/*.ts', { cwd: root }).map((path) => ({
  path,
  workspace: path.split('/').slice(0, 2).join('/'),
  text: readFileSync(join(root, path), 'utf8'),
}));

/** Statements only: comments and strings may hold the words too. */
const IMPORT =
  /^(?:import|export)\b[^;'"]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport(?:\.meta\.resolve)?\('([^']+)'\)/gm;
const importsOf = (text: string): string[] =>
  [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
const isOf = (name: string, library: string): boolean => name === library || name.startsWith(`${library}/`);

test('the sources are found', () => {
  expect(files.length).toBeGreaterThan(80);
  expect(new Set(files.map(({ workspace }) => workspace))).toEqual(new Set(Object.keys(MAY_IMPORT)));
});

test('imports point down the dependency graph', () => {
  const wrong = files.flatMap(({ path, workspace, text }) =>
    importsOf(text)
      .filter((name) => name.startsWith('@breakwater/'))
      .filter((name) => !MAY_IMPORT[workspace]?.some((allowed) => isOf(name, `@breakwater/${allowed}`)))
      .map((name) => `${path} imports ${name}`),
  );
  expect(wrong).toEqual([]);
});

test('a workspace declares what it imports, and nothing else', () => {
  const wrong = Object.keys(MAY_IMPORT).flatMap((workspace) => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, workspace, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    const used = new Set(
      files
        .filter((file) => file.workspace === workspace)
        .flatMap(({ text }) => importsOf(text))
        .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
        .map((name) =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        ),
    );
    return [
      ...[...used]
        .filter((name) => !(name in dependencies))
        .map((name) => `${workspace} uses ${name} without declaring it`),
      ...Object.keys(dependencies)
        .filter((name) => !used.has(name))
        .map((name) => `${workspace} declares ${name} without using it`),
    ];
  });
  expect(wrong).toEqual([]);
});

test('each library is imported by its owner only', () => {
  const wrong = files.flatMap(({ path, workspace, text }) =>
    importsOf(text).flatMap((name) => {
      const owned = Object.entries(OWNERS).find(([library]) => isOf(name, library));
      return owned && !owned[1].includes(workspace) ? [`${path} imports ${name}`] : [];
    }),
  );
  expect(wrong).toEqual([]);
});

test('pages never call anything safe by hand', () => {
  const wrong = files.filter(({ text }) => /html\.raw|as SafeHtml|innerHTML/.test(text));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('only main.ts touches the process', () => {
  const allowed = new Set(['packages/runtime/src/service.ts']); // signals, on behalf of every main.ts
  expect(
    files
      .filter(
        ({ path, text }) =>
          /\bprocess\.(?:env|exit|exitCode|argv|on|once|stdout|stderr)\b/.test(text) &&
          !path.endsWith('/main.ts') &&
          !allowed.has(path),
      )
      .map(({ path }) => path),
  ).toEqual([]);
});

test('no file outgrows a sitting', () => {
  expect(files.filter(({ text }) => text.split('\n').length > LINES_MAX).map(({ path }) => path)).toEqual([]);
});

test('scripts name the keys that the keyspace names', () => {
  const keys = files.find(({ path }) => path.endsWith('store/src/keys.ts'))?.text ?? '';
  const known = new Set([...keys.matchAll(/`\$\{prefix\}([a-z-]+)/g)].map((match) => match[1]));
  const lua = globSync('packages/store/src/lua/*.lua', { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const used = new Set(
    lua.flatMap((text) => [...text.matchAll(/P \.\. '([a-z-]+)/g)].map((match) => match[1])),
  );
  expect(used.size).toBeGreaterThan(5);
  expect([...used].filter((name) => !known.has(name))).toEqual([]);
});

test('ARCHITECTURE lists every Redis key and every workspace', () => {
  const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const keys = files.find(({ path }) => path.endsWith('store/src/keys.ts'))?.text ?? '';
  const names = [...keys.matchAll(/`\$\{prefix\}([a-z-]+)/g)].map((match) => match[1] ?? '');
  expect(names.filter((name) => !architecture.includes(`\`${name}`))).toEqual([]);
  expect(
    Object.keys(MAY_IMPORT).filter((workspace) => !architecture.includes(workspace.split('/')[1] ?? '')),
  ).toEqual([]);
});

test('ARCHITECTURE and the metrics agree', () => {
  const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const metrics = files
    .filter(({ path }) => path.includes('runtime/src/metrics-'))
    .flatMap(({ text }) =>
      [
        ...text.matchAll(
          /'(?:breakwater_)?((?:webhooks|ack|delivery|ledger|dead|erp|side|breaker|queue|past|fleet|source|quarantined|reconcile|oldest)_[a-z_]+)'/g,
        ),
      ].map((match) => match[1] ?? ''),
    );
  expect(metrics.length).toBeGreaterThan(10);
  expect(metrics.filter((name) => !architecture.includes(`breakwater_${name}`))).toEqual([]);
});

test('nothing in the repository names a registry host or a path of one machine', () => {
  const tracked = globSync('**/*.{ts,mjs,mts,lua,md,yaml,yml,json,conf,sh}', {
    cwd: root,
    exclude: (name) => ['node_modules', '.git', '.data', 'coverage'].includes(name),
  });
  const forbidden = new RegExp(
    [
      String.raw`\/wor` + String.raw`k\/`,
      String.raw`\/roo` + String.raw`t\/`,
      String.raw`https?:\/\/[a-z0-9.-]*(?:npm` + String.raw`js|debi` + String.raw`an)\.`,
    ].join('|'),
  );
  expect(tracked.filter((path) => forbidden.test(readFileSync(join(root, path), 'utf8')))).toEqual([]);
});
