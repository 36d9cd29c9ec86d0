import { expect, test } from '@jest/globals';
import { AppError } from '../src/errors.ts';
import { createLogger } from '../src/logger.ts';

/** A logger and what it has written. */
function open() {
  const lines: string[] = [];
  const logger = createLogger({
    service: 'test',
    level: 'trace',
    to: { write: (line) => void lines.push(line) },
  });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? '') as Record<string, unknown> };
}

const SECRET = 'correct-horse-battery';

test('a line is one JSON object with the service, the time, the ids and the message', () => {
  const { logger, lines, last } = open();
  logger.info({ delivery: 'd-1', attempt: 2, operator: 'acme' }, 'attempt');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/\}\n$/);
  expect(last()).toMatchObject({
    level: 30,
    service: 'test',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    delivery: 'd-1',
    attempt: 2,
    operator: 'acme',
    msg: 'attempt',
  });
});

test.each([
  ['a member that is called so', { secret: SECRET }],
  ['a member in any spelling', { 'X-Api-Key': 1, API_KEY: SECRET, nested: { 'set-cookie': [SECRET] } }],
  ['a member deep inside', { config: { target: { adapter: { auth: { password: SECRET } } } } }],
  ['a payload', { body: SECRET, event: { payload: { amount: SECRET } } }],
  ['raw bytes', { chunk: Buffer.from(SECRET) }],
  ['a URL with credentials', { url: `redis://user:${SECRET}@127.0.0.1:6379/0` }],
  ['a bearer token in a sentence', { reason: `the server said: Bearer ${SECRET} is not valid` }],
  ['a signing secret', { reason: `whsec_${SECRET}` }],
  [
    'the details of an error',
    { err: new AppError('internal', 'no', { details: { headers: { Authorization: SECRET } } }) },
  ],
  ['the message of an error', { err: new Error(`cannot reach amqp://me:${SECRET}@host`) }],
  ['the cause of an error', { err: new Error('outer', { cause: new Error(`Basic ${SECRET}`) }) }],
  [
    'what a library hangs on its error',
    { err: Object.assign(new Error('no'), { options: { json: { token: SECRET } } }) },
  ],
])('a secret does not leave in %s', (_where, fields) => {
  const { logger, lines } = open();
  logger.error(fields, 'failed');
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain(SECRET);
  expect(lines[0]).toMatch(/redacted|left out/);
});

test('nor in the message itself, and a child logger has the same fence', () => {
  const { logger, lines, last } = open();
  logger.child({ run: 'r-1' }).warn(`Redis at redis://:${SECRET}@host is away`);
  expect(lines[0]).not.toContain(SECRET);
  expect(last()).toMatchObject({ run: 'r-1', msg: 'Redis at redis://[redacted]@host is away' });
});

test('what is no secret stays as it is: ids, references, sentences, stack traces', () => {
  const { logger, last } = open();
  const fields = {
    eventId: 'evt_1/é <b>',
    url: 'https://partner.example/hook?x=1',
    reason: 'Basic checks failed',
    counts: { missing: 1 },
    list: ['a', 'b'],
    nothing: null,
    at: new Date(0),
  };
  logger.info({ ...fields, err: new Error('plain') }, 'said');
  const { err, ...rest } = last() as { err: { message: string; stack: string } };
  expect(rest).toMatchObject({ ...fields, at: '1970-01-01T00:00:00.000Z' });
  expect(err.message).toBe('plain');
  expect(err.stack).toContain('logger.test.ts');
});
