import { describe, expect, test } from '@jest/globals';
import { headerLines, type SignedRequest } from '../src/headers.ts';
import { replayKeyOf } from '../src/signed-content.ts';
import { createVerifier, type Verdict } from '../src/verify.ts';
import { authWith, hexSignature, hmacOf, requestOf, SECRET, sourceWith } from './support.ts';

const NOW_MS = 1_700_000_000_500;
const BODY = '{"id":"evt_1","amount":1.10}';

const verdictOf = (source: ReturnType<typeof sourceWith>, request: SignedRequest): Verdict =>
  createVerifier(source)({ ...request, nowMs: NOW_MS });
const codeOf = (verdict: Verdict): string => (verdict.ok ? `ok by ${verdict.secretId}` : verdict.code);

describe('the signature', () => {
  test('of the exact bytes passes, and the secret that matched is named', () => {
    expect(verdictOf(sourceWith(), requestOf(BODY, ['X-Signature', hexSignature(BODY)]))).toEqual({
      ok: true,
      secretId: 'first',
    });
  });

  test('fails for every single bit that is changed in the body', () => {
    const verify = createVerifier(sourceWith());
    const { headers } = requestOf(BODY, ['x-signature', hexSignature(BODY)]);
    const passed: string[] = [];
    for (let bit = 0; bit < BODY.length * 8; bit += 1) {
      const body = Buffer.from(BODY);
      body[bit >> 3]! ^= 1 << (bit & 7);
      if (verify({ headers, body, nowMs: NOW_MS }).ok) passed.push(body.toString());
    }
    expect(passed).toEqual([]);
  });

  test('covers bytes that are no text, and a byte order mark', () => {
    for (const body of [
      Buffer.from([0xff, 0xfe, 0x00, 0x80]),
      Buffer.from(`\uFEFF${BODY}`),
      Buffer.alloc(0),
    ]) {
      expect(codeOf(verdictOf(sourceWith(), requestOf(body, ['x-signature', hexSignature(body)])))).toBe(
        'ok by first',
      );
    }
    // The same text without its mark is other bytes.
    expect(
      codeOf(verdictOf(sourceWith(), requestOf(`\uFEFF${BODY}`, ['x-signature', hexSignature(BODY)]))),
    ).toBe('signature_invalid');
  });

  test('is missing when its header is absent or empty', () => {
    expect(codeOf(verdictOf(sourceWith(), requestOf(BODY)))).toBe('signature_missing');
    expect(codeOf(verdictOf(sourceWith(), requestOf(BODY, ['x-signature', ''])))).toBe('signature_missing');
  });

  test('is refused when its header comes twice, even with the right value in both', () => {
    const right = hexSignature(BODY);
    expect(
      codeOf(verdictOf(sourceWith(), requestOf(BODY, ['x-signature', right], ['X-Signature', right]))),
    ).toBe('signature_invalid');
  });

  test.each([
    ['without the prefix', hexSignature(BODY).slice('sha256='.length)],
    ['with another prefix', hexSignature(BODY).replace('sha256', 'sha512')],
    ['that is too short', 'sha256=abcd'],
    ['that is too long', `${hexSignature(BODY)}00`],
    ['of 64 characters that are not hexadecimal', `sha256=${'z'.repeat(64)}`],
    ['of 64 characters that are two bytes each', `sha256=${'é'.repeat(64)}`],
    ['with something behind it', `${hexSignature(BODY)} `],
    ['that is a prefix only', 'sha256='],
    ['of another secret', hexSignature(BODY, 'another secret')],
  ])('%s is refused with a verdict, never an exception', (_, header) => {
    expect(codeOf(verdictOf(sourceWith(), requestOf(BODY, ['x-signature', header])))).toBe(
      'signature_invalid',
    );
  });

  test('in hexadecimal may be in capitals', () => {
    const header = `sha256=${hmacOf(BODY).toString('hex').toUpperCase()}`;
    expect(codeOf(verdictOf(sourceWith(), requestOf(BODY, ['x-signature', header])))).toBe('ok by first');
  });

  test('in base64 has one text only', () => {
    const source = sourceWith({
      auth: authWith({ signature: { header: 'x-signature', encoding: 'base64' } }),
    });
    const right = hmacOf(BODY).toString('base64');
    const verdicts = [
      right,
      right.replace('=', ''),
      right.replaceAll('+', '-').replaceAll('/', '_'),
      `${right.slice(0, -2)}${nextLetter(right)}=`,
      ` ${right}`,
    ];
    expect(
      verdicts.map((header) => codeOf(verdictOf(source, requestOf(BODY, ['x-signature', header])))),
    ).toEqual([
      'ok by first',
      'signature_invalid',
      // Where the signature holds neither + nor /, both alphabets agree.
      /[+/]/.test(right) ? 'signature_invalid' : 'ok by first',
      'signature_invalid',
      'signature_invalid',
    ]);
  });

  test.each(['sha1', 'sha256', 'sha512'])('can be an HMAC with %s', (hash) => {
    const auth = authWith({
      algorithm: `hmac-${hash}`,
      signature: { header: 'x-signature', encoding: 'base64' },
    });
    const signature = hmacOf(BODY, SECRET, hash).toString('base64');
    expect(codeOf(verdictOf(sourceWith({ auth }), requestOf(BODY, ['x-signature', signature])))).toBe(
      'ok by first',
    );
  });
});

/** The letter after the last one of a base64 text: it differs in the bits that padding leaves unused. */
function nextLetter(base64: string): string {
  return String.fromCharCode(base64.charCodeAt(base64.length - 2) + 1);
}

describe('secrets', () => {
  const secrets = ['old', 'current', 'next'].map((id) => ({ id, value: `value of ${id}` }));

  test('may be any of the configured ones, so that a rotation can overlap', () => {
    for (const { id, value } of secrets) {
      expect(
        codeOf(
          verdictOf(sourceWith({ secrets }), requestOf(BODY, ['x-signature', hexSignature(BODY, value)])),
        ),
      ).toBe(`ok by ${id}`);
    }
  });

  test('are decoded as configured', () => {
    const key = Buffer.from('00ff10a0', 'hex');
    for (const [encoding, value] of [
      ['hex', '00FF10a0'],
      ['base64', 'AP8QoA=='],
      ['base64', 'AP8QoA'],
    ]) {
      const source = sourceWith({ secrets: [{ id: 'key', value }], auth: authWith({ key: encoding }) });
      expect(codeOf(verdictOf(source, requestOf(BODY, ['x-signature', hexSignature(BODY, key)])))).toBe(
        'ok by key',
      );
    }
  });

  test.each([
    ['hex', 'zz'],
    ['hex', 'abc'],
    ['base64', '===='],
    ['base64', 'not-base64'],
    ['base64', '='],
  ])('that are no %s, such as %s, stop the start without being shown', (encoding, value) => {
    const source = sourceWith({
      secrets: [
        { id: 'wrong', value },
        { id: 'second', value },
      ],
      auth: authWith({ key: encoding }),
    });
    const error = thrownBy(() => createVerifier(source));
    expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(/wrong.*second/) });
    expect(String(error)).not.toContain(`${value} `);
  });

  test('and signatures are in no message', () => {
    const right = hexSignature(BODY).slice(7);
    const wrongs = [
      [],
      [['x-signature', right]],
      [['x-signature', hexSignature('other')]],
      [['x-signature', 'sha256=1']],
    ] as [string, string][][];
    for (const headers of wrongs) {
      const text = JSON.stringify(verdictOf(sourceWith(), requestOf(BODY, ...headers)));
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain(right);
    }
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('signed headers', () => {
  const auth = authWith({ signed: [{ header: 'X-Id' }, { literal: ':' }, 'body'] });

  test('are part of what is verified', () => {
    const signature: [string, string] = ['x-signature', hexSignature(`one:${BODY}`)];
    expect(codeOf(verdictOf(sourceWith({ auth }), requestOf(BODY, signature, ['x-id', 'one'])))).toBe(
      'ok by first',
    );
    expect(codeOf(verdictOf(sourceWith({ auth }), requestOf(BODY, signature, ['x-id', 'two'])))).toBe(
      'signature_invalid',
    );
    expect(
      codeOf(verdictOf(sourceWith({ auth }), requestOf(BODY, signature, ['x-id', 'one'], ['x-id', 'one']))),
    ).toBe('signature_invalid');
    expect(codeOf(verdictOf(sourceWith({ auth }), requestOf(BODY, signature)))).toBe('signature_missing');
  });

  test('count as the bytes on the wire', () => {
    const onTheWire = Buffer.concat([Buffer.from('ü', 'latin1'), Buffer.from(`:${BODY}`)]);
    expect(
      codeOf(
        verdictOf(
          sourceWith({ auth }),
          requestOf(BODY, ['x-id', 'ü'], ['x-signature', hexSignature(onTheWire)]),
        ),
      ),
    ).toBe('ok by first');
  });
});

describe('header names', () => {
  test('of object members are ordinary names', () => {
    const lines = headerLines(['__proto__', 'a', 'constructor', 'b', '__proto__', 'c']);
    expect(Object.entries(lines)).toEqual([
      ['__proto__', ['a', 'c']],
      ['constructor', ['b']],
    ]);
    const auth = authWith({ signature: { header: 'constructor', encoding: 'hex' } });
    expect(
      codeOf(createVerifier(sourceWith({ auth }))({ headers: {}, body: Buffer.from(BODY), nowMs: NOW_MS })),
    ).toBe('signature_missing');
  });
});

describe('the replay key', () => {
  const unsigned = sourceWith({ eventId: { header: 'x-id' } });

  test('is the same for the same signed bytes under another unsigned id', () => {
    const first = replayKeyOf(unsigned, requestOf(BODY, ['x-id', '1']));
    expect(first).toMatch(/^[A-Za-z0-9]{22}$/);
    expect(replayKeyOf(unsigned, requestOf(BODY, ['x-id', '2']))).toBe(first);
    expect(replayKeyOf(unsigned, requestOf(`${BODY} `, ['x-id', '1']))).not.toBe(first);
  });

  test('does not exist where the id is signed', () => {
    expect(replayKeyOf(sourceWith(), requestOf(BODY))).toBeUndefined();
  });
});
