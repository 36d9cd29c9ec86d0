import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { sharedRedisUrl, startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { createTokenReader, TOKEN_CACHE_MS } from '../src/token-reader.ts';
import { createToken, listTokens, revokeToken } from '../src/tokens.ts';
import { afterwards, silent } from './support/acceptor.ts';

function openTokens(redisUrl = sharedRedisUrl()) {
  const redis = connectRedis(redisUrl, 'scripts', silent);
  afterwards(() => closeRedis(redis));
  const keys = createKeyspace(`t${newId()}`);
  let now = 0;
  return {
    redis,
    keys,
    reader: createTokenReader({ redis, keys, logger: silent, now: () => now }),
    /** Makes the reader's clock go on. */
    pass: (ms: number) => (now += ms),
    create: (scope: string, expiresInMs: number | null = null) =>
      createToken({ redis, keys }, { name: 'shop', scope, expiresInMs }, 'tester'),
  };
}

test('the value of a token is in no key, no value and no audit entry', async () => {
  const { redis, keys, create } = openTokens();
  const { token, value } = await create('operator:acme', 60_000);
  expect(value).toMatch(/^bwt_[A-Za-z0-9_-]{43}$/);
  const stored: unknown[] = [];
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${keys.prefix}*`, 'COUNT', 1_000);
    cursor = next;
    for (const key of found)
      stored.push(key, key === keys.audit ? await redis.xrange(key, '-', '+') : await redis.hgetall(key));
  } while (cursor !== '0');
  expect(JSON.stringify(stored)).toContain(token.id);
  expect(JSON.stringify(stored)).not.toContain(value.slice(4));
  expect(JSON.stringify(stored)).toContain('token.create');
});

test('a token is known with its scope, and an invented one is not', async () => {
  const { reader, create } = openTokens();
  const { token, value } = await create('publish');
  expect(await reader.judge(value)).toEqual({
    kind: 'known',
    id: token.id,
    name: 'shop',
    scope: { role: 'publish', operator: 'default' },
  });
  expect(await reader.judge(`${value}x`)).toEqual({ kind: 'unknown' });
});

test('a revoked token counts nowhere once what is known of it is 5 s old, and stays listed', async () => {
  const { redis, keys, reader, pass, create } = openTokens();
  const { token, value } = await create('admin');
  const revocation = { id: token.id, reason: 'lost', actor: 'tester' };
  expect((await reader.judge(value)).kind).toBe('known');
  expect((await revokeToken({ redis, keys }, revocation)).changed).toBe(true);
  pass(TOKEN_CACHE_MS);
  expect((await reader.judge(value)).kind).toBe('revoked');
  expect((await revokeToken({ redis, keys }, revocation)).changed).toBe(false);
  expect((await listTokens({ redis, keys })).map(({ id, state }) => [id, state])).toEqual([
    [token.id, 'revoked'],
  ]);
  await expect(revokeToken({ redis, keys }, { ...revocation, id: 'tok_x' })).rejects.toThrow('There is no');
});

test('an expired token counts no more, also while it is remembered', async () => {
  const { reader, create } = openTokens();
  const { value, token } = await create('read', 1_000);
  expect((await reader.judge(value)).kind).toBe('known');
  await waitUntil(() => Date.now() > (token.expiresAt ?? 0), { timeoutMs: 10_000, what: 'its end' });
  expect((await reader.judge(value)).kind).toBe('expired');
});

test('the last use is noted, and not more than once in a minute', async () => {
  const { redis, keys, reader, pass, create } = openTokens();
  const { value } = await create('read');
  const used = async () => (await listTokens({ redis, keys }))[0]?.lastUsedAt ?? null;
  expect(await used()).toBeNull();
  await reader.judge(value);
  await waitUntil(async () => (await used()) !== null, { timeoutMs: 10_000, what: 'the note' });
  const first = await used();
  pass(TOKEN_CACHE_MS + 1);
  await reader.judge(value);
  await redis.ping(); // behind a note, were one on its way on this connection
  expect(await used()).toBe(first);
});

test('while Redis does not answer, a token is neither good nor bad', async () => {
  const own = await startOwnRedis();
  afterwards(() => own.close());
  const redis = connectRedis(own.url, 'producer', silent);
  afterwards(() => closeRedis(redis));
  await waitUntil(() => redis.status === 'ready', { timeoutMs: 20_000, what: 'a connection' });
  const keys = createKeyspace('t');
  let now = 0;
  const reader = createTokenReader({ redis, keys, logger: silent, now: () => now });
  const { value } = await createToken({ redis, keys }, { name: 'a', scope: 'publish' }, 'tester');
  expect((await reader.judge(value)).kind).toBe('known');
  await own.kill();
  await waitUntil(() => redis.status !== 'ready', { timeoutMs: 20_000, what: 'the end of it' });
  expect((await reader.judge(value)).kind).toBe('known'); // remembered
  now = TOKEN_CACHE_MS;
  await expect(reader.judge(value)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(reader.judge('bwt_other')).rejects.toMatchObject({ code: 'unavailable' });
});

test('a scope that is none is refused before anything is stored', async () => {
  const { redis, keys, create } = openTokens();
  for (const scope of ['', 'root', 'operator', 'operator:', 'admin:acme', 'read:a:b', 'publish:*'])
    await expect(create(scope)).rejects.toMatchObject({ code: 'request_invalid' });
  expect(await listTokens({ redis, keys })).toEqual([]);
});
