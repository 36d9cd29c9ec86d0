import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { CONFIG, createRig, type Rig } from './support.ts';

const KEY = Buffer.from('a key that nobody may see').toString('base64');
/** With characters that URLs, JSON and UTF-8 write in another way. */
const ODD = 'ünsagbar "geheim" a&b/c';
const SECRETS = ['the-first-secret', `whsec_${KEY}`, ODD, 'user-7:pass/word+9', 'token-of-another-operator'];
/** What must not be found in anything that is printed. */
const FORMS = [...SECRETS, KEY, 'pass/word+9'].flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString('latin1'),
  Buffer.from(secret).toString('base64'),
]);
const MORE = `
  plain:
    secrets: [{ id: a, value: the-first-secret }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: [{ header: x-id }, { pointer: /id }]
    replayKey: none
  standard: { preset: standard-webhooks, secrets: [{ id: a, value: whsec_${KEY} }] }
  url:
    secrets: [{ id: a, value: '${ODD}' }]
    request: { publicUrl: 'https://hooks.example.com/in' }
    auth:
      kind: signature
      algorithm: hmac-sha256
      signature: { header: x-signature, encoding: hex }
      signed: [{ url: requested }, body]
    eventId: { pointer: /id }
  basic:
    secrets: [{ id: a, value: 'user-7:pass/word+9' }]
    auth: { kind: sharedSecret, in: basic }
    eventId: { pointer: /id }
    replayKey: none
  theirs:
    operator: acme
    secrets: [{ id: a, value: token-of-another-operator }]
    auth: { kind: sharedSecret, in: query, name: token }
    eventId: { pointer: /id }
    replayKey: none
  items: { preset: adyen, secrets: [{ id: a, value: 44782DEF547AAA06 }] }
  letters: { preset: docusign, secrets: [{ id: a, value: the-first-secret }] }
erpTargets:`;
const SOURCES = ['plain', 'standard', 'url', 'basic', 'theirs', 'items', 'letters'];

let rig: Rig;
beforeAll(async () => {
  rig = await createRig(CONFIG.replace('\nerpTargets:', MORE));
});
afterAll(() => rig.close());

const word = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...FORMS) },
  fc.constantFrom('', 'a', '{"id":"e"}', 'v1,', 't=1,v1=', 'sha256=', '=', ':', ' ', '\n', '\r\n', '\u0000'),
  fc.string({ maxLength: 20 }),
);
const words = fc.array(word, { maxLength: 4 }).map((each) => each.join(''));
/** Signed by everything that anybody here may sign with, so that what verifies is printed, too. */
const sign = (body: string, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');
const header = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(
        'x-signature',
        'X-Id',
        'Authorization',
        'webhook-signature',
        'webhook-id',
        'Content-Length',
      ),
      word,
    ),
    words,
  )
  .map(([name, value]) => `${name}: ${value}`);
const capture = fc
  .record({
    line: fc.oneof(
      { weight: 3, arbitrary: fc.constant('POST /webhooks/plain?token=a HTTP/1.1') },
      words.map((text) => `POST /in?token=${text} HTTP/1.1`),
      fc.constantFrom('> POST / HTTP/1.1', '* Connected'),
      words,
    ),
    headers: fc.array(header, { maxLength: 6 }),
    signedBy: fc.option(fc.constantFrom('the-first-secret', ...SECRETS), { nil: undefined }),
    body: fc.oneof(
      words,
      words.map((text) => JSON.stringify({ id: text })),
      words.map(
        (text) =>
          `{"notificationItems":[{"NotificationRequestItem":{"pspReference":${JSON.stringify(text)}}}]}`,
      ),
      words.map((text) => `<a>${text}</a>`),
    ),
    eol: fc.constantFrom('\n', '\r\n', '\n> '),
  })
  .map(({ line, headers, body, eol, signedBy }) => {
    const signed = signedBy === undefined ? headers : [`x-signature: ${sign(body, signedBy)}`];
    return `${[line, ...signed].join(eol)}\n${eol === '\n> ' ? '> ' : ''}\n${body}`;
  });

test('whatever is captured, verify ends with a code of its own and prints no secret', async () => {
  const told: number[] = [];
  await fc.assert(
    fc.asyncProperty(
      capture,
      fc.oneof(fc.constant('plain'), fc.constantFrom(...SOURCES)),
      fc.boolean(),
      fc.option(words, { nil: undefined }),
      async (text, source, json, url) => {
        const args = ['verify', '--source', source, '--request', '-', ...(json ? ['--json'] : [])];
        const run = await rig.cli([...args, ...(url === undefined ? [] : ['--url', `x${url}`])], {
          redisUrl: 'redis://127.0.0.1:1',
          stdin: text,
        });
        expect([0, 1, 2]).toContain(run.code);
        told.push(run.code);
        const printed = run.stdout + run.stderr;
        for (const form of FORMS) expect([text, printed.includes(form)]).toEqual([text, false]);
        expect(printed).not.toMatch(/\n {4}at |node:internal/);
      },
    ),
    { seed: 20_260_131, numRuns: 400 },
  );
  // Not refused as captures alone, and some verify.
  for (const code of [0, 1]) expect(told.filter((each) => each === code).length).toBeGreaterThan(5);
});

test.each([
  ['the file', ['--body', '/dev/zero', '--header', 'a: b']],
  ['a head without an end', ['--request', '-'], `POST / HTTP/1.1\n${'x: y\n'.repeat(100_000)}`],
  ['a head of one line', ['--request', '-'], `x: ${'y'.repeat(100_000)}`],
])('what is larger than any request is refused while it is read: %s', async (_name, args, stdin = '') => {
  const { code, stderr } = await rig.cli(['verify', '--source', 'plain', ...args], {
    redisUrl: 'redis://127.0.0.1:1',
    stdin,
  });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/more than \d+ bytes/)]);
});

test('stdin that never ends is refused at the size of the largest request', async () => {
  const { code, stderr } = await rig.cli(['verify', '--source', 'plain', '--header', 'a: b', '--body', '-'], {
    redisUrl: 'redis://127.0.0.1:1',
    stdin: 'x'.repeat(27 * 1024 * 1024),
  });
  expect([code, stderr]).toEqual([2, expect.stringContaining('stdin holds more than 27262976 bytes')]);
});

test('a capture of curl with a body of nothing but line breaks is read in one pass', async () => {
  const path = `${rig.env.BREAKWATER_CONFIG}.lines`;
  writeFileSync(path, `> POST / HTTP/1.1\n> x-signature: 00\n> \n${'\n'.repeat(200_000)}* done\nanswer`);
  const { code, json } = await rig.cli(['verify', '--source', 'plain', '--json', '--request', path], {
    redisUrl: 'redis://127.0.0.1:1',
  });
  expect(code).toBe(1);
  expect(json().checks[0].signed[0].sizeBytes).toBe(200_000);
});
