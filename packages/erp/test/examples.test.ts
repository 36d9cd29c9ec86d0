import { generateKeyPairSync } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { parseConfig } from '@breakwater/runtime/config';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createErpTargets, type ReadyErpTarget } from '../src/targets.ts';
import { eventOf } from './support/events.ts';
import { type Answered, type Asked, type JsonServer, startJsonServer } from './support/json-server.ts';

const docs = join(import.meta.dirname, '../../../docs/erp');
/** Tryton's page is no example of `http`: it was tried against the real ERP. */
const pages = globSync('*.md', { cwd: docs }).filter((name) => name !== 'README.md' && name !== 'tryton.md');
const pageOf = (name: string): string => readFileSync(join(docs, name), 'utf8');

let client: HttpClient;
beforeAll(() => void (client = createHttpClient({})));
afterAll(() => client.close());

/** The target of a page, with whatever else its YAML names set to something. */
function targetOf(page: string, env: Record<string, string>): ReadyErpTarget {
  const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(pageOf(`${page}.md`)) ?? [];
  const names = [...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, `value-of-${name}`]);
  const config = parseConfig(yaml, { ...Object.fromEntries(names), ...env });
  const [target] = createErpTargets(config, client).values();
  if (target === undefined) throw new Error(`${page} configures no target`);
  return target;
}

const BODY = {
  order_number: 'SO-1',
  customer: 'C1',
  supplier: 'S1',
  partner: 7,
  location: 8,
  warehouse: 'W1',
  lines: [{ sku: 'A', product: 3, quantity: 2 }],
};

/** What the look-up and the post of one event come to. */
async function run(target: ReadyErpTarget, body: object = BODY, eventId = "evt'1") {
  const event = eventOf(body, eventId);
  const reference = await target.mapping.reference(event);
  if (!reference.ok) throw new Error(reference.message);
  const document = await target.mapping.document(event, reference.value);
  if (!document.ok) throw new Error(document.message);
  return {
    post: () => target.adapter.post(document.value, reference.value, { mayWrite: () => true }, event),
    find: () => target.adapter.find?.(reference.value, event, document.value),
  };
}

/** Nothing there, posted, found again; then a document that is refused. */
async function expectOnce(target: ReadyErpTarget, receipt: string, refused: object): Promise<void> {
  const order = await run(target);
  expect(await order.find()).toEqual({ kind: 'absent' });
  expect(await order.post()).toMatchObject({ kind: 'posted', receipt });
  expect(await order.find()).toEqual({ kind: 'found', receipts: [receipt], belongs: true });
  expect(await (await run(target, refused, 'evt-2')).post()).toMatchObject({ kind: 'rejected' });
}

test('every example says that it was not tested against the vendor, and is listed', () => {
  expect(pages.length).toBeGreaterThanOrEqual(4);
  const list = pageOf('README.md');
  for (const page of pages) {
    expect(pageOf(page)).toMatch(/^\*\*Not tested against /m);
    expect(list).toContain(`(${page})`);
    expect(() => targetOf(basename(page, '.md'), CREDENTIALS)).not.toThrow();
  }
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const CREDENTIALS = {
  ODOO_URL: 'https://odoo.test',
  ERPNEXT_URL: 'https://erpnext.test',
  BC_URL: 'https://bc.test',
  BC_LOGIN_URL: 'https://login.test',
  NETSUITE_URL: 'https://netsuite.test',
  NETSUITE_PRIVATE_KEY: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};

describe('Odoo as described', () => {
  interface Rpc {
    params: { args: [string, number, string, string, string, unknown[], { fields: string[] }?] };
  }
  const error = (name: string): Answered => ({
    json: { jsonrpc: '2.0', error: { code: 200, message: 'Odoo Server Error', data: { name } } },
  });
  const startOdoo = (): Promise<JsonServer> => {
    const pickings = new Map<string, number>();
    return startJsonServer(({ path, body }) => {
      if (path !== '/jsonrpc') return undefined;
      const [, user, password, model, method, args] = (JSON.parse(body) as Rpc).params.args;
      if (password !== 'api-key' || user !== 2) return error('odoo.exceptions.AccessDenied');
      if (model !== 'stock.picking') return error('odoo.exceptions.MissingError');
      if (method === 'search_read') {
        const [[[field, , value]]] = args as [[[string, string, string]]];
        const id = field === 'origin' ? pickings.get(value) : undefined;
        return { json: { jsonrpc: '2.0', result: id === undefined ? [] : [{ id, origin: value }] } };
      }
      const [{ origin, partner_id: partner, move_ids: moves }] = args as [
        { origin: string; partner_id?: number; move_ids: unknown },
      ];
      if (partner === undefined) return error('odoo.exceptions.ValidationError');
      expect(moves).toEqual([[0, 0, { product_id: 3, product_uom_qty: 2 }]]); // a list of one stays a list
      if (partner === 0) return error('psycopg2.OperationalError');
      pickings.set(origin, 41 + pickings.size);
      return { json: { jsonrpc: '2.0', result: 41 } };
    });
  };
  const odooAt = (server: JsonServer, password = 'api-key') =>
    targetOf('odoo', { ODOO_URL: server.url, ODOO_USER_ID: '2', ODOO_API_KEY: password });

  test('is looked up, posted to and found again; its errors under status 200 are no postings', async () => {
    await using server = await startOdoo();
    await expectOnce(odooAt(server), '41', { ...BODY, partner: undefined });
    expect(await (await run(odooAt(server), { ...BODY, partner: 0 }, 'evt-3')).post()).toMatchObject({
      kind: 'unknown',
    });
    const locked = await run(odooAt(server, 'wrong'));
    expect(await locked.post()).toMatchObject({ kind: 'failed' });
    expect(await locked.find()).toMatchObject({ kind: 'failed', class: 'lookup_failed' });
  });
});

test('ERPNext as described is looked up, posted to and found again; its unique field makes a duplicate', async () => {
  const receipts = new Map<string, string>();
  const answer = ({ method, path, query, headers, body }: Asked): Answered | undefined => {
    if (headers['authorization'] !== 'token key:s3cret') return { status: 401, json: {} };
    if (path !== '/api/resource/Purchase%20Receipt') return undefined;
    if (method === 'GET') {
      const [[field, , value]] = JSON.parse(query.get('filters') ?? '') as [[string, string, string]];
      const name = receipts.get(value);
      return { json: { data: name === undefined ? [] : [{ name, [field]: value }] } };
    }
    const { breakwater_reference: reference, supplier } = JSON.parse(body) as Record<string, string>;
    if (supplier === undefined) return { status: 417, json: { exc_type: 'ValidationError' } };
    if (receipts.has(reference!)) return { status: 409, json: { exc_type: 'DuplicateEntryError' } };
    receipts.set(reference!, 'MAT-PRE-1');
    return { json: { data: { name: 'MAT-PRE-1' } } };
  };
  await using server = await startJsonServer(answer);
  const env = { ERPNEXT_URL: server.url, ERPNEXT_API_KEY: 'key', ERPNEXT_API_SECRET: 's3cret' };
  const target = targetOf('erpnext', env);
  await expectOnce(target, 'MAT-PRE-1', { ...BODY, supplier: undefined });
  expect(await (await run(target)).post()).toMatchObject({ kind: 'already_posted' });
  expect(target.config).toMatchObject({ dedupes: true, canFind: true });
});

test('Business Central as described is asked with a token, and a quote in a reference leaves no filter', async () => {
  const orders = new Map<string, string>();
  const answer = ({ method, path, query, headers, body }: Asked): Answered | undefined => {
    if (path === '/login/tenant/oauth2/v2.0/token') {
      const form = new URLSearchParams(body);
      const scope = 'https://api.businesscentral.dynamics.com/.default';
      return form.get('client_secret') === 's3cret' && form.get('scope') === scope
        ? { json: { token_type: 'Bearer', expires_in: 3599, access_token: 'ey.token' } }
        : { status: 401, json: { error: 'invalid_client' } };
    }
    if (headers['authorization'] !== 'Bearer ey.token') return { status: 401, json: {} };
    if (path !== '/api/companies(c-1)/salesOrders') return undefined;
    if (method === 'GET') {
      const [, quoted = ''] =
        /^externalDocumentNumber eq '((?:[^']|'')*)'$/.exec(query.get('$filter') ?? '') ?? [];
      const reference = quoted.replaceAll("''", "'");
      const number = orders.get(reference);
      return { json: { value: number === undefined ? [] : [{ number, externalDocumentNumber: reference }] } };
    }
    const { externalDocumentNumber: reference, customerNumber } = JSON.parse(body) as Record<string, string>;
    if (customerNumber === undefined) return { status: 400, json: { error: { code: 'BadRequest' } } };
    orders.set(reference!, '101005');
    return { status: 201, json: { number: '101005' } };
  };
  await using server = await startJsonServer(answer);
  const target = targetOf('business-central', {
    BC_URL: `${server.url}/api`,
    BC_LOGIN_URL: `${server.url}/login`,
    BC_TENANT_ID: 'tenant',
    BC_COMPANY_ID: 'c-1',
    BC_CLIENT_SECRET: 's3cret',
  });
  await expectOnce(target, '101005', { ...BODY, customer: undefined });
  const quoted = await run(target, { ...BODY, order_number: "x' or 'a' eq 'a" });
  expect(await quoted.find()).toEqual({ kind: 'absent' });
  expect(await quoted.post()).toMatchObject({ kind: 'posted' });
  expect(await quoted.find()).toMatchObject({ kind: 'found', belongs: true });
  expect(server.asked.filter(({ path }) => path.endsWith('/token'))).toHaveLength(1);
});

test('NetSuite as described is posted to by upsert, and only its own "not there" proves an absence', async () => {
  const orders = new Map<string, string>();
  let isMoved = false;
  const answer = ({ method, path, headers, body }: Asked): Answered | undefined => {
    if (path === '/services/rest/auth/oauth2/v1/token') {
      const hasAssertion = (new URLSearchParams(body).get('client_assertion') ?? '').split('.').length === 3;
      return hasAssertion ? { json: { access_token: 'ns-token', expires_in: '3600' } } : { status: 400 };
    }
    if (headers['authorization'] !== 'Bearer ns-token') return { status: 401, json: {} };
    const missing = (code: string): Answered => ({
      status: 404,
      json: { title: 'Not Found', status: 404, 'o:errorDetails': [{ 'o:errorCode': code }] },
    });
    const [, encoded] = /^\/services\/rest\/record\/v1\/salesOrder\/eid:(.*)$/.exec(path) ?? [];
    if (encoded === undefined || isMoved) return missing('INVALID_URL');
    const reference = decodeURIComponent(encoded);
    const id = orders.get(reference);
    if (method === 'GET')
      return id === undefined ? missing('NONEXISTENT_ID') : { json: { id, externalId: reference } };
    if (!('id' in (JSON.parse(body) as { entity: object }).entity))
      return { status: 400, json: { status: 400 } };
    orders.set(reference, id ?? '7001');
    return { status: 204, headers: { location: `https://erp.test/services/rest/record/v1/salesOrder/7001` } };
  };
  await using server = await startJsonServer(answer);
  const target = targetOf('netsuite', { ...CREDENTIALS, NETSUITE_URL: server.url });
  await expectOnce(target, '7001', { ...BODY, customer: undefined });
  isMoved = true;
  expect(await (await run(target)).find()).toMatchObject({ kind: 'failed', class: 'lookup_failed' });
});
