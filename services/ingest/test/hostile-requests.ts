import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { sign, SIGNATURE } from './support.ts';

/** What is written to a connection of its own. */
export interface Attack {
  readonly kind: string;
  readonly bytes: Buffer;
  /** The connection is cut right after the bytes, without waiting for an answer. */
  readonly cut?: true;
}

/** Numbers that are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const post = (headers: readonly string[], body: string | Buffer = '', path = '/webhooks/demo'): Buffer =>
  Buffer.concat([
    Buffer.from(`${[`POST ${path} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`, 'latin1'),
    Buffer.from(body),
  ]);
const sized = (body: string | Buffer, headers: readonly string[], path?: string): Buffer =>
  post([...headers, `Content-Length: ${Buffer.byteLength(body)}`], body, path);
const signed = (body: Buffer, headers: readonly string[] = [], path?: string): Buffer =>
  sized(body, [`${SIGNATURE}: ${sign(body)}`, ...headers], path);

/** A kilobyte that holds a megabyte, and so on: more than any source takes. */
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const DEEP = '['.repeat(200_000);
const GOOD = '{"id":"never"}';

type Make = (pick: (below: number) => number) => Buffer;
const anyOf = (pick: (below: number) => number, texts: readonly string[]): string =>
  texts[pick(texts.length)] ?? '';

const KINDS: Readonly<Record<string, Make>> = {
  garbage: (pick) => randomBytes(1 + pick(4_000)),
  'half a protocol': (pick) =>
    Buffer.from(
      `${anyOf(pick, [
        'GET',
        'POST /webhooks/demo',
        'POST  /webhooks/demo HTTP/1.1',
        'POST /webhooks/demo HTTP/9.9',
        'POST /webhooks/demo HTTP/1.1\nHost: x\n',
        'BREW /webhooks/demo HTTP/1.1',
        'CONNECT x:1 HTTP/1.1\r\nHost: x',
        'PRI * HTTP/2.0\r\n\r\nSM',
        'POST /webhooks/demo HTTP/1.1\r\n folded: x',
        'POST /webhooks/demo HTTP/1.1\r\nHost: a\r\nHost: b',
      ])}\r\n\r\n`,
    ),
  methods: (pick) =>
    Buffer.from(
      `${anyOf(pick, ['GET', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'HEAD', 'PROPFIND'])} /webhooks/demo HTTP/1.1\r\nHost: x\r\n\r\n`,
    ),
  'broken chunks': (pick) =>
    post(
      ['Transfer-Encoding: chunked', `${SIGNATURE}: ${sign(GOOD)}`],
      anyOf(pick, [
        'zz\r\n',
        '-1\r\nx\r\n',
        'ffffffffffffffffff\r\n',
        '5\r\nabc\r\n0\r\n\r\n',
        '5abcde0\r\n\r\n',
        `1;${'e'.repeat(30_000)}\r\nx\r\n0\r\n\r\n`,
        `0\r\n${'t: x\r\n'.repeat(5_000)}\r\n`,
        '0x5\r\nabcde\r\n0\r\n\r\n',
      ]),
    ),
  smuggling: (pick) =>
    post(
      anyOf(pick, [
        'Content-Length: 4|Transfer-Encoding: chunked',
        'Transfer-Encoding: chunked|Content-Length: 4',
        'Content-Length: 4|Content-Length: 90',
        'Content-Length: +4',
        'Content-Length: 4, 4',
        'Content-Length: -1',
        'Content-Length: 0x4',
        'Content-Length: 99999999999999999999999',
        'Transfer-Encoding: xchunked',
        'Transfer-Encoding: chunked, identity',
        'Transfer-Encoding : chunked',
        'Transfer-Encoding: \tchunked\u000b',
        'X: y\rTransfer-Encoding: chunked',
        'X: y\u0000',
      ]).split('|'),
      `0\r\n\r\n${signed(Buffer.from(GOOD)).toString()}`,
    ),
  'huge headers': (pick) =>
    post(
      anyOf(pick, ['one', 'many', 'name']) === 'many'
        ? Array.from({ length: 3_000 }, (_, index) => `x${index}: y`)
        : [`x${'y'.repeat(pick(30_000))}: z`, `z: ${'y'.repeat(pick(30_000))}`],
    ),
  encodings: (pick) =>
    sized(
      GOOD,
      [
        `Content-Encoding: ${anyOf(pick, ['br', 'gzip', 'deflate', 'gzip, gzip', 'x'.repeat(500), 'zstd'])}`,
        `${SIGNATURE}: ${sign(GOOD)}`,
      ],
      anyOf(pick, ['/webhooks/demo', '/webhooks/packed', '/webhooks/sealed']),
    ),
  'gzip bombs': (pick) => {
    const bytes = anyOf(pick, ['all', 'part']) === 'all' ? BOMB : BOMB.subarray(0, pick(BOMB.length));
    return sized(
      bytes,
      ['Content-Encoding: gzip', `${SIGNATURE}: ${sign(bytes)}`],
      anyOf(pick, ['/webhooks/packed', '/webhooks/sealed']),
    );
  },
  'deep JSON': (pick) => {
    const body = Buffer.from(
      anyOf(pick, [
        DEEP,
        `${DEEP}${']'.repeat(200_000)}`,
        '{"a":'.repeat(100_000),
        `{"notificationItems":${DEEP}`,
      ]),
    );
    return signed(body, [], anyOf(pick, ['/webhooks/demo', '/webhooks/items']));
  },
  'bad UTF-8': (pick) =>
    signed(
      Buffer.concat([
        Buffer.from('{"id":"'),
        Buffer.from([0xc0, 0xed, 0xa0, 0xff].slice(pick(4))),
        Buffer.from('"}'),
      ]),
    ),
  'unsigned bodies': (pick) => sized(randomBytes(pick(60_000)), []),
  signatures: (pick) =>
    sized(
      `{"id":"${pick(1e9)}","filling":"${'x'.repeat(pick(60_000))}"}`,
      anyOf(pick, [
        `${SIGNATURE}: sha256=${randomBytes(32).toString('hex')}`,
        `${SIGNATURE}: sha256=${'0'.repeat(14_000)}`,
        `${SIGNATURE}: ${sign(GOOD)}|${SIGNATURE}: ${sign(GOOD)}`,
        `${SIGNATURE}: sha256=`,
        `${SIGNATURE}: ${'sha256=,'.repeat(1_000)}`,
        `${SIGNATURE}: sha256=${'\u00e9'.repeat(64)}`,
      ]).split('|'),
    ),
  paths: (pick) =>
    sized(
      GOOD,
      [`${SIGNATURE}: ${sign(GOOD)}`],
      anyOf(pick, [
        `/webhooks/${'a/'.repeat(6_000)}`,
        `/webhooks/${'%2e%2e%2f'.repeat(1_000)}demo`,
        '/webhooks/%00%ff',
        '/webhooks/%',
        '*',
        '//webhooks/demo',
        '/webhooks/__proto__',
        '/webhooks/constructor?__proto__[a]=1',
        `/${'?'.repeat(8_000)}`,
        '/webhooks/d\u00e9mo',
        '/WEBHOOKS/demo',
        '/webhooks/demo#x',
      ]).replace(/#x$/, '%23x'),
    ),
  publishing: (pick) =>
    sized(
      anyOf(pick, [GOOD, DEEP, '{"events":[]}']),
      anyOf(pick, [
        'X: y',
        'Authorization: Bearer guessed',
        'Authorization: Basic eDp5',
        'Authorization: Bearer a|Authorization: Bearer b',
        `Authorization: Bearer ${'x'.repeat(12_000)}`,
      ]).split('|'),
      '/v1/events',
    ),
  pipelining: (pick) =>
    Buffer.concat(
      Array.from({ length: 20 }, () =>
        sized(
          GOOD,
          [`${SIGNATURE}: sha256=${'1'.repeat(pick(65))}`],
          `/webhooks/${anyOf(pick, ['demo', 'no'])}`,
        ),
      ),
    ),
  'too large': () => post([`Content-Length: ${2 ** 40}`, 'Expect: 100-continue']),
};

/** The same attacks in every run but for random bytes, each kind as often as any other. */
export function attacks(count: number, seed: number): Attack[] {
  const pick = numbers(seed);
  const kinds = Object.entries(KINDS);
  return Array.from({ length: count }, (_, index) => {
    const [kind, make] = kinds[index % kinds.length] ?? ['', () => Buffer.alloc(0)];
    const bytes = make(pick);
    // Every fifth is half a request, whose sender is gone.
    return pick(5) === 0
      ? { kind, bytes: bytes.subarray(0, pick(bytes.length)), cut: true }
      : { kind, bytes };
  });
}
