import { BreakwaterConfig } from '@breakwater/contracts/config';
import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createErpTargets } from '../src/targets.ts';

let client: HttpClient;
beforeAll(() => {
  client = createHttpClient({});
});
afterAll(() => client.close());

const HTTP = { kind: 'http', baseUrl: 'http://erp.test', post: { path: '"/receipts"' } };
const target = (changes: object = {}, post: object = {}): object => ({
  owner: 'integration',
  document: 'data',
  adapter: { ...HTTP, post: { ...HTTP.post, ...post } },
  ...changes,
});

const configOf = (erpTargets: object): BreakwaterConfig => BreakwaterConfig.parse({ erpTargets });

test('every configured ERP target is there by its name', () => {
  const targets = createErpTargets(
    configOf({ receipts: target(), invoices: target({ owner: 'finance' }) }),
    client,
  );
  expect([...targets.keys()]).toEqual(['receipts', 'invoices']);
  expect(targets.get('invoices')).toMatchObject({ name: 'invoices', config: { owner: 'finance' } });
});

test('the mistakes of all targets are listed at once, each with its place', () => {
  const config = configOf({
    receipts: target({ adapter: { ...HTTP, baseUrl: 'http://a:b@erp.test', headers: { Host: 'x' } } }),
    invoices: target({}, { answers: { duplicate: [409], rejected: [409] } }),
    fine: target(),
  });
  expect(() => createErpTargets(config, client)).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      details: {
        mistakes: [
          expect.stringMatching(/^erpTargets\.receipts\.adapter\.baseUrl: .*adapter\.auth/),
          expect.stringMatching(/^erpTargets\.receipts\.adapter\.headers\.Host: /),
          expect.stringMatching(/^erpTargets\.invoices\.adapter\.post\.answers: .*409/),
        ],
      },
    }),
  );
});

test('a fault that is no mistake of the configuration is not listed as one', () => {
  const config = configOf({ receipts: target() });
  const adapter = { ...config.erpTargets['receipts']!.adapter, baseUrl: 'no URL' };
  const broken = { ...config, erpTargets: { receipts: { ...config.erpTargets['receipts']!, adapter } } };
  expect(() => createErpTargets(broken, client)).toThrow('Invalid URL');
});
