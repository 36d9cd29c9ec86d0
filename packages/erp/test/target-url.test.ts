import { expect, test } from '@jest/globals';
import { createCompiler } from '../src/expression.ts';
import { createTargetUrl } from '../src/target-url.ts';

const urlOf = (base: string, path: unknown): unknown => {
  const result = createTargetUrl(base, createCompiler()).at(path);
  return result.ok ? result.value : 'refused';
};

test('a path is appended to the base URL', () => {
  expect(urlOf('http://erp.test', '/api/receipts')).toBe('http://erp.test/api/receipts');
  expect(urlOf('http://erp.test/', '/api/receipts')).toBe('http://erp.test/api/receipts');
  expect(urlOf('https://erp.test:8443/tenant/', '/api?a=b&c=d')).toBe(
    'https://erp.test:8443/tenant/api?a=b&c=d',
  );
  expect(urlOf('http://erp.test', '/a/..b/c?x=../y')).toBe('http://erp.test/a/..b/c?x=../y');
});

test.each([
  ['text that is no path', 'receipts'],
  ['another port', '80/x'],
  ['another host', '@evil.test/'],
  ['a host suffix', '.evil.test/'],
  ['an absolute URL', 'http://evil.test/'],
  ['a backslash', '/\\evil.test/'],
  ['a parent segment', '/api/../admin'],
  ['an encoded parent segment', '/api/%2E%2e/admin'],
  ['a parent segment at the end', '/api/..'],
  ['a current segment before the query', '/api/.?x=1'],
  ['a fragment, which would cut the query', '/api?reference=a#b'],
  ['a blank', '/api?reference=a b'],
  ['a line break', '/api?reference=a\nb'],
  ['a number', 7],
  ['nothing', undefined],
  ['an object', { path: '/api' }],
])('%s is refused', (_name, path) => {
  expect(urlOf('http://erp.test', path)).toBe('refused');
  expect(urlOf('http://erp.test/tenant', path)).toBe('refused');
});

test('a path without its slash is told so, rather than that it leaves the base', () => {
  const result = createTargetUrl('http://erp.test', createCompiler()).at('receipts');
  expect(result).toMatchObject({ ok: false, message: expect.stringContaining('begin with /') });
});

const mistakesOf = (base: string) => (): void => {
  const compiler = createCompiler();
  createTargetUrl(base, compiler);
  compiler.finish();
};

test('a base URL with a query, a fragment or credentials is a mistake', () => {
  expect(mistakesOf('http://erp.test/?a=b')).toThrow(/adapter\.baseUrl/);
  expect(mistakesOf('http://erp.test/#a')).toThrow(/adapter\.baseUrl/);
  expect(mistakesOf('http://user:pass@erp.test/')).toThrow(/^(?!.*pass@).*adapter\.baseUrl/);
  expect(mistakesOf('http://erp.test/tenant')).not.toThrow();
});
