import { constants, generateKeyPairSync, verify } from 'node:crypto';
import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ErpAdapter, PostResult } from '../src/adapter.ts';
import { createHttpAdapter } from '../src/http-adapter.ts';
import { createTokenSource } from '../src/oauth2.ts';
import { adapterConfig } from './support/erp-server.ts';
import { eventOf } from './support/events.ts';
import { type Answered, type Asked, type JsonServer, startJsonServer } from './support/json-server.ts';

let client: HttpClient;
beforeAll(() => void (client = createHttpClient({})));
afterAll(() => client.close());

const SECRET = 'client-s3cret';
const OAUTH = { kind: 'oauth2', clientId: 'breakwater', clientSecret: SECRET };

const adapterOf = (server: JsonServer, auth: object, changes: Record<string, unknown> = {}): ErpAdapter =>
  createHttpAdapter(adapterConfig(server.url, { headers: {}, auth, ...changes }), client);
const post = (adapter: ErpAdapter, reference = 'ref-1'): Promise<PostResult> =>
  adapter.post({ order: 1 }, reference, { mayWrite: () => true }, eventOf({}));

/** An ERP that takes one bearer token at a time, and its token endpoint. */
async function startGuarded(tokens: (count: number, asked: Asked) => Answered | Promise<Answered>) {
  const state = { valid: '', issued: 0, posts: 0 };
  const server = await startJsonServer(async (asked) => {
    if (asked.path === '/token') {
      state.issued += 1;
      return await tokens(state.issued, asked);
    }
    if (asked.headers['authorization'] !== `Bearer ${state.valid}`)
      return { status: 401, text: `no: ${String(asked.headers['authorization'])}` };
    state.posts += 1;
    return asked.method === 'POST' ? { status: 201, json: { receipt_no: 'R' } } : { json: { receipts: [] } };
  });
  return { server, state, auth: { ...OAUTH, tokenUrl: `${server.url}/token` } };
}
const tokenOf = (count: number, more: object = {}): Answered => ({
  json: { access_token: `token-${count}`, token_type: 'Bearer', expires_in: 3_600, ...more },
});

describe('fixed credentials', () => {
  test.each([
    [
      { kind: 'basic', username: 'bob', password: 'pässword' },
      'authorization',
      `Basic ${btoa('bob:p\xc3\xa4ssword')}`,
    ],
    [{ kind: 'bearer', token: 'abc-123' }, 'authorization', 'Bearer abc-123'],
    [{ kind: 'header', name: 'X-Api-Key', value: 'key-9876' }, 'x-api-key', 'key-9876'],
  ])(
    '%j are sent with posts and look-ups, and masked where the ERP echoes them',
    async (auth, name, value) => {
      await using server = await startJsonServer((asked) => ({
        status: 422,
        text: `no: ${String(asked.headers[name])}`,
      }));
      const adapter = adapterOf(server, auth);
      const result = await post(adapter);
      await adapter.find?.('ref-1', eventOf({}), {});
      expect(server.asked.map(({ headers }) => headers[name])).toEqual([value, value]);
      expect(result).toMatchObject({
        kind: 'rejected',
        sample: { text: expect.stringMatching(/\[redacted\]/) },
      });
      expect(JSON.stringify(result)).not.toContain(value);
    },
  );

  test('are refused beside a header of the same name, and where no header can carry them', () => {
    const making = (changes: Record<string, unknown>) => () =>
      createHttpAdapter(adapterConfig('http://erp.test', changes), client);
    expect(making({ auth: { kind: 'bearer', token: 'x' }, headers: { Authorization: 'y' } })).toThrow(
      /adapter\.headers\.Authorization: .*adapter\.auth/,
    );
    expect(making({ headers: {}, auth: { kind: 'bearer', token: 'hidden\n' } })).toThrow(
      /^(?!.*hidden)adapter\.auth\.token/s,
    );
  });
});

describe('a token by client credentials', () => {
  test('is fetched once for whoever waits for it, and kept', async () => {
    const { server, state, auth } = await startGuarded((count) => {
      state.valid = `token-${count}`;
      return tokenOf(count);
    });
    await using _ = server;
    const adapter = adapterOf(server, auth);
    const results = await Promise.all(
      Array.from({ length: 8 }, (_each, index) => post(adapter, `ref-${index}`)),
    );
    expect(results.map(({ kind }) => kind)).toEqual(Array(8).fill('posted'));
    expect(await adapter.find?.('ref-9', eventOf({}), {})).toEqual({ kind: 'absent' });
    expect(state.issued).toBe(1);
    const [asked] = server.asked;
    expect(asked).toMatchObject({ method: 'POST', path: '/token' });
    expect(asked?.headers['authorization']).toBe(`Basic ${btoa(`breakwater:${SECRET}`)}`);
    expect(asked?.body).toBe('grant_type=client_credentials');
  });

  test('carries id, secret, scope and parameters in the body where the server wants them there', async () => {
    const { server, state, auth } = await startGuarded((count) => {
      state.valid = `token-${count}`;
      return tokenOf(count, { expires_in: '3600' });
    });
    await using _ = server;
    const more = { credentials: 'body', scope: 'a b', parameters: { audience: 'erp' } };
    expect((await post(adapterOf(server, { ...auth, ...more }))).kind).toBe('posted');
    expect(Object.fromEntries(new URLSearchParams(server.asked[0]?.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'breakwater',
      client_secret: SECRET,
      scope: 'a b',
      audience: 'erp',
    });
    expect(server.asked[0]?.headers).not.toHaveProperty('authorization');
  });

  test('that the ERP refuses is renewed once, and the post is sent once more', async () => {
    const { server, state, auth } = await startGuarded((count) => {
      if (count > 1) state.valid = `token-${count}`; // the first one was revoked
      return tokenOf(count);
    });
    await using _ = server;
    expect(await post(adapterOf(server, auth))).toMatchObject({ kind: 'posted' });
    expect([state.issued, state.posts]).toEqual([2, 1]);
  });

  test('that is refused again has failed: no third is asked for, and no token is in the sample', async () => {
    const { server, state, auth } = await startGuarded((count) => tokenOf(count));
    await using _ = server;
    const result = await post(adapterOf(server, auth));
    expect(result).toMatchObject({ kind: 'failed', class: 'http_auth', code: '401' });
    expect([state.issued, state.posts]).toEqual([2, 0]);
    expect(JSON.stringify(result)).not.toMatch(/token-\d/);
  });

  test('is renewed before it ends, and one that still holds is used while the endpoint fails', async () => {
    let answer: Answered = tokenOf(1);
    await using server = await startJsonServer(() => answer);
    const { auth } = adapterConfig(server.url, { auth: { ...OAUTH, tokenUrl: server.url } });
    if (auth?.kind !== 'oauth2') throw new Error('expected what was given');
    let nowMs = 0;
    const tokens = createTokenSource(auth, client, undefined, () => nowMs);
    const HOUR_MS = 3_600_000;
    const got = async (atMs: number): Promise<string> => {
      nowMs = atMs;
      const result = await tokens.get();
      return result.ok ? result.token : result.class;
    };
    expect(await got(0)).toBe('token-1');
    answer = { status: 503 };
    expect(await got(HOUR_MS - 60_001)).toBe('token-1');
    expect(server.asked).toHaveLength(1);
    expect(await got(HOUR_MS - 59_000)).toBe('token-1');
    expect(server.asked).toHaveLength(2);
    expect(await got(HOUR_MS)).toBe('http_5xx');
    answer = tokenOf(2);
    expect(await got(HOUR_MS)).toBe('token-2');
    expect(tokens.secrets()).toEqual(['token-2', 'token-1']);
    tokens.forget('token-1'); // the answer to an old request says nothing about the new token
    expect(await got(HOUR_MS)).toBe('token-2');
  });

  test.each([
    [
      'refuses the client',
      { status: 401, json: { error: 'invalid_client', error_description: SECRET } },
      'http_auth',
      'invalid_client',
    ],
    [
      'finds the request wrong',
      { status: 400, json: { error: 'invalid_scope' } },
      'http_auth',
      'invalid_scope',
    ],
    ['is down', { status: 503, text: SECRET }, 'http_5xx', '503'],
    ['answers with no token', { json: { token: SECRET } }, 'http_auth', 'access_token'],
    [
      'gives a token that no header can carry',
      { json: { access_token: `${SECRET}\n` } },
      'http_auth',
      'access_token',
    ],
    [
      'gives a token of another kind',
      { json: { access_token: SECRET, token_type: 'mac' } },
      'http_auth',
      'token_type',
    ],
    ['answers with a page', { text: `<html>${SECRET}</html>` }, 'http_auth', 'the answer'],
  ])(
    'of an endpoint that %s: the post has surely failed, and no secret is told',
    async (_name, answer, kind, words) => {
      const { server, state, auth } = await startGuarded(() => answer);
      await using _ = server;
      const adapter = adapterOf(server, auth);
      for (const result of [await post(adapter), await adapter.find?.('ref-1', eventOf({}), {})]) {
        expect(result).toMatchObject({
          kind: 'failed',
          class: kind,
          message: expect.stringContaining(words),
        });
        expect(JSON.stringify(result)).not.toContain(SECRET);
      }
      expect(state.posts).toBe(0);
    },
  );

  test('of an endpoint that hangs or is not there: the post has surely failed', async () => {
    const hang = Promise.withResolvers<Answered>();
    const { server, auth } = await startGuarded(() => hang.promise);
    await using _ = server;
    expect(await post(adapterOf(server, { ...auth, timeout: '1s' }))).toMatchObject({
      kind: 'failed',
      class: 'timeout_response',
    });
    hang.resolve({ status: 503 });
    const nowhere = { ...auth, tokenUrl: 'http://127.0.0.1:1/token' };
    expect(await post(adapterOf(server, nowhere))).toMatchObject({
      kind: 'failed',
      class: 'connection_refused',
    });
    expect(server.asked.every(({ path }) => path === '/token')).toBe(true);
  });

  test('may be asked for with a signed assertion instead of a secret', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { server, state, auth } = await startGuarded((count) => {
      state.valid = `token-${count}`;
      return tokenOf(count);
    });
    await using _ = server;
    const { clientSecret: _secret, ...rest } = auth;
    const privateKey = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const clientAssertion = { algorithm: 'PS256', keyId: 'cert-1', privateKey, claims: { scope: ['rest'] } };
    expect((await post(adapterOf(server, { ...rest, clientAssertion }))).kind).toBe('posted');
    const form = new URLSearchParams(server.asked[0]?.body);
    const [header = '', claims = '', signature = ''] = (form.get('client_assertion') ?? '').split('.');
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as unknown;
    expect(decode(header)).toEqual({ alg: 'PS256', typ: 'JWT', kid: 'cert-1' });
    expect(decode(claims)).toMatchObject({ iss: 'breakwater', aud: auth.tokenUrl, scope: ['rest'] });
    const key = { key: rsa.publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    expect(
      verify('sha256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url')),
    ).toBe(true);
    expect(() =>
      adapterOf(server, { ...rest, clientAssertion: { ...clientAssertion, algorithm: 'ES256' } }),
    ).toThrow(/adapter\.auth\.clientAssertion\.privateKey: .*ES256 can use \(EC\)/);
  });
});
