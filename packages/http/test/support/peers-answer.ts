import { type RequestListener, createServer } from 'node:http';
import type { Server } from 'node:net';
import { Readable, pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type Ask, HANG_MS, type Peer } from './peers.ts';
import { post, rawServer, saying, withServer } from './servers.ts';

type Rest = Parameters<typeof post>[1];

/** These bytes in answer to the request, and then the connection stays open, ends or is reset. */
const bytes =
  (text: string, then: 'hold' | 'end' | 'reset' = 'hold', rest: Rest = {}) =>
  async (ask: Ask): Promise<void> =>
    withServer(saying(text, then).server, async (port) => ask(post(port, rest)));

const answering =
  (answer: RequestListener, rest: Rest = {}) =>
  async (ask: Ask): Promise<void> =>
    withServer(createServer(answer), async (port) => ask(post(port, rest)));

const status = (code: number, headers: Record<string, string> = {}): Peer['meet'] =>
  answering((_request, response) => response.writeHead(code, headers).end());

/** Begins an answer and repeats the rest for as long as somebody listens. */
const dripping =
  (begin: string, rest: string) =>
  async (ask: Ask): Promise<void> => {
    const { server } = rawServer((socket) => {
      socket.write(begin);
      const drip = setInterval(() => socket.write(rest), 20);
      socket.on('close', () => clearInterval(drip));
    });
    await withServer(server, async (port) => ask(post(port, { timeoutMs: HANG_MS })));
  };

const ZEROS = Buffer.alloc(65_536);
export function* endless(): Generator<Buffer> {
  for (;;) yield ZEROS;
}

/** A server that says this and repeats the rest as fast as the socket takes it, for as long as somebody listens. */
export const pouring = (begin: string, rest: string): Server =>
  rawServer((socket) => {
    socket.write(begin);
    const chunk = rest.repeat(Math.ceil(65_536 / rest.length));
    const pour = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', pour);
    pour();
  }).server;

const flood =
  (begin: string, rest: string) =>
  async (ask: Ask): Promise<void> =>
    withServer(pouring(begin, rest), async (port) => ask(post(port)));

const OK = 'HTTP/1.1 200 OK\r\n';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

const FRAMING: readonly Peer[] = [
  {
    what: 'sends its headers byte by byte',
    outcome: 'timeout_response',
    sent: 'maybe',
    meet: dripping(OK, 'x: y\r\n'),
  },
  {
    what: 'sends headers of more than 16 KiB',
    outcome: 'protocol',
    sent: 'maybe',
    meet: bytes(`${OK}x: ${'y'.repeat(20_000)}\r\n\r\n`),
  },
  { what: 'sends headers without end', outcome: 'protocol', sent: 'maybe', meet: flood(OK, 'x: y\r\n') },
  {
    what: 'speaks another protocol',
    outcome: 'protocol',
    sent: 'maybe',
    meet: bytes('SSH-2.0-OpenSSH_9.6\r\n'),
  },
  {
    what: 'breaks the rules of HTTP',
    outcome: 'protocol',
    sent: 'maybe',
    meet: bytes(`${OK}bad header\r\n\r\n`),
  },
  {
    what: 'announces two lengths',
    outcome: 'protocol',
    sent: 'maybe',
    meet: bytes(`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
  },
  {
    what: 'repeats 100 Continue slowly',
    outcome: 'timeout_response',
    sent: 'maybe',
    meet: dripping('', CONTINUE),
  },
  { what: 'floods with 100 Continue', outcome: 'protocol', sent: 'maybe', meet: flood('', CONTINUE) },
  {
    what: 'sends a few 1xx answers, then 200',
    outcome: 'sent',
    meet: bytes(`${CONTINUE}HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}content-length: 2\r\n\r\nok`),
  },
  { what: 'answers 200 in HTTP/1.0', outcome: 'sent', meet: bytes('HTTP/1.0 200 OK\r\n\r\nok', 'end') },
];

const BODIES: readonly Peer[] = [
  {
    what: 'answers 200 with a body that never ends',
    outcome: 'sent',
    meet: answering((_request, response) => void pipeline(Readable.from(endless()), response, () => {})),
  },
  { what: 'answers 200 with a body that drips', outcome: 'sent', meet: dripping(`${OK}\r\n`, '.') },
  {
    what: 'answers 200 with a gzip bomb',
    outcome: 'sent',
    meet: answering((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      pipeline(Readable.from(endless()), createGzip(), response, () => {});
    }),
  },
  {
    what: 'answers 200 with a body shorter than announced',
    outcome: 'sent',
    meet: bytes(`${OK}content-length: 100\r\n\r\nabc`, 'end'),
  },
  {
    what: 'answers 200 with a body longer than announced',
    outcome: 'sent',
    meet: bytes(`${OK}content-length: 3\r\n\r\nabcdef`),
  },
  {
    what: 'answers 200 and resets in its body',
    outcome: 'sent',
    meet: bytes(`${OK}content-length: 100\r\n\r\nabc`, 'reset'),
  },
  {
    what: 'answers 200 and breaks its chunked framing',
    outcome: 'sent',
    meet: bytes(`${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n`),
  },
  {
    what: 'answers 204 with a body',
    outcome: 'sent',
    meet: bytes('HTTP/1.1 204 No Content\r\ncontent-length: 3\r\n\r\nabc'),
  },
  {
    what: 'answers 200 before it has read the request, and never reads it',
    outcome: 'sent',
    meet: answering((_request, response) => response.end('early'), { body: Buffer.alloc(25_000_000, 'x') }),
  },
  {
    what: 'answers 413 before it has read the request, and never reads it',
    outcome: 'http_4xx',
    meet: answering((_request, response) => response.writeHead(413).end('early'), {
      body: Buffer.alloc(25_000_000, 'x'),
    }),
  },
];

const STATUSES: readonly Peer[] = [
  {
    what: 'answers 101',
    outcome: 'http_other',
    meet: bytes('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  },
  { what: 'redirects to itself (302)', outcome: 'http_redirect', meet: status(302, { location: '/hook' }) },
  {
    what: 'redirects to a private address (307)',
    outcome: 'http_redirect',
    meet: status(307, { location: 'http://169.254.169.254/' }),
  },
  { what: 'answers 304', outcome: 'http_redirect', meet: status(304) },
  { what: 'answers 401', outcome: 'http_auth', meet: status(401) },
  { what: 'answers 403', outcome: 'http_auth', meet: status(403) },
  { what: 'answers 404', outcome: 'http_4xx', meet: status(404) },
  { what: 'answers 407', outcome: 'http_4xx', meet: status(407) },
  { what: 'answers 409', outcome: 'http_4xx', meet: status(409) },
  { what: 'answers 410', outcome: 'http_gone', meet: status(410) },
  { what: 'answers 429', outcome: 'http_429', meet: status(429, { 'retry-after': '60' }) },
  { what: 'answers 500', outcome: 'http_5xx', meet: status(500) },
  { what: 'answers 503', outcome: 'http_5xx', meet: status(503, { 'retry-after': '60' }) },
  {
    what: 'answers 999',
    outcome: 'http_other',
    meet: bytes('HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n'),
  },
];

export const ANSWER_PEERS: readonly Peer[] = [...FRAMING, ...BODIES, ...STATUSES];
