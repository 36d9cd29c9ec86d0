import { expect, test } from '@jest/globals';
import { readEnvironment } from '../src/environment.ts';

test('an empty environment is the documented one', () => {
  expect(readEnvironment({})).toEqual({
    BREAKWATER_CONFIG: 'breakwater.config.yaml',
    REDIS_URL: 'redis://127.0.0.1:6390',
    KEY_PREFIX: 'bw',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
    LOG_PRETTY: false,
    DURABILITY: 'strict',
  });
});

test('an empty variable counts as unset: compose files write them so', () => {
  expect(readEnvironment({ REDIS_URL: '', DURABILITY: '', PORT: '', RETRY_SCHEDULE: '' })).toEqual(
    readEnvironment({}),
  );
});

test('every mistake is listed at once', () => {
  const wrong = {
    REDIS_URL: 'http://redis',
    KEY_PREFIX: 'a:b',
    PORT: '70000',
    OPS_PORT: 'x',
    LOG_LEVEL: 'loud',
    LOG_PRETTY: 'perhaps',
    DURABILITY: 'weak',
    RETRY_SCHEDULE: '0s,soon',
    SHUTDOWN_TIMEOUT_MS: '5',
  };
  let message = '';
  try {
    readEnvironment(wrong);
  } catch (error) {
    message = String(error);
  }
  for (const name of Object.keys(wrong)) expect(message).toContain(`at ${name}`);
});

test('what is set is read in its own type', () => {
  const env = readEnvironment({
    PORT: '0',
    OPS_PORT: '9100',
    LOG_PRETTY: 'true',
    RETRY_SCHEDULE: '0s,1m',
    SHUTDOWN_TIMEOUT_MS: '9000',
    REDIS_URL: 'rediss://u:p@r:1/2',
  });
  expect(env).toMatchObject({
    PORT: 0,
    OPS_PORT: 9_100,
    LOG_PRETTY: true,
    RETRY_SCHEDULE: [0, 60_000],
    SHUTDOWN_TIMEOUT_MS: 9_000,
    REDIS_URL: 'rediss://u:p@r:1/2',
  });
});
