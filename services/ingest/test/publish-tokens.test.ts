import { afterEach, expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { createTokenReader, TOKEN_CACHE_MS } from '@breakwater/core/token-reader';
import { createToken, revokeToken } from '@breakwater/core/tokens';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { call, codeOf, startIngest } from './support.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Ingest with tokens as data; `answers` may stand for a Redis that is away. */
async function start(kind: 'scripts' | 'producer' = 'scripts', url = sharedRedisUrl()) {
  const redis = connectRedis(url, kind, logger);
  closers.push(() => closeRedis(redis));
  const keys = createKeyspace(`t${newId()}`);
  let now = 0;
  const rig = await startIngest(
    {},
    {
      publishTokens: [{ id: 'built-in', value: 'from-the-configuration', operator: 'default' }],
      tokenReader: createTokenReader({ redis, keys, logger, now: () => now }),
    },
  );
  closers.push(() => rig.close());
  return {
    deps: { redis, keys },
    rig,
    pass: (ms: number) => (now += ms),
    create: (scope: string) => createToken({ redis, keys }, { name: 'relay', scope }, 'tester'),
    publish: (token: string) =>
      call(rig.port, {
        path: '/v1/events',
        body: '{"id":"e1","type":"t","data":{}}',
        headers: { authorization: `Bearer ${token}` },
      }),
  };
}

test('a token made as data publishes as its operator, beside those of the configuration', async () => {
  const { rig, create, publish } = await start();
  const { value } = await create('publish:acme');
  expect((await publish(value)).status).toBe(202);
  expect((await publish('from-the-configuration')).status).toBe(202);
  expect(rig.events.map(({ operator }) => operator)).toEqual(['acme', 'default']);
});

test('a token of another scope is told that it does not publish, and an invented one that it is none', async () => {
  const { rig, create, publish } = await start();
  for (const scope of ['admin', 'operator:acme', 'read']) {
    const answer = await publish((await create(scope)).value);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'token_scope']);
  }
  const answer = await publish(`bwt_${'a'.repeat(43)}`);
  expect([answer.status, codeOf(answer)]).toEqual([401, 'token_invalid']);
  expect(rig.events).toEqual([]);
});

test('a revoked token publishes nothing once what is known of it is 5 s old', async () => {
  const { deps, pass, create, publish } = await start();
  const { token, value } = await create('publish');
  expect((await publish(value)).status).toBe(202);
  await revokeToken(deps, { id: token.id, reason: 'lost', actor: 'tester' });
  pass(TOKEN_CACHE_MS);
  const answer = await publish(value);
  expect([answer.status, codeOf(answer)]).toEqual([401, 'token_invalid']);
});

test('while Redis is away a token that may be good gets 503, never 401', async () => {
  const { publish } = await start('producer', 'redis://127.0.0.1:9'); // nothing listens there
  const answer = await publish(`bwt_${'a'.repeat(43)}`);
  expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'unavailable', '5']);
});
