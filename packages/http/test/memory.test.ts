import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { Readable, pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { endless, pouring } from './support/peers-answer.ts';
import { withServer } from './support/servers.ts';

/** What a process may grow by for 10 answers of each kind at once. Reading one of them whole takes hundreds of MB. */
const BOUND_KIB = 96 * 1_024;

/** 60 KB that are 60 MB when they are unpacked. */
const BOMB = gzipSync(Buffer.alloc(60_000_000), { level: 1 });

const GIANTS: Readonly<Record<string, () => Server>> = {
  'bodies that never end': () =>
    createServer((_request, response) => void pipeline(Readable.from(endless()), response, () => {})),
  'giant bodies of a known length': () =>
    createServer((_request, response) => {
      response.writeHead(200, { 'content-length': 4_000_000_000 });
      pipeline(Readable.from(endless()), response, () => {});
    }),
  'gzip bombs': () =>
    createServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(BOMB);
    }),
  'headers that never end': () => pouring('HTTP/1.1 200 OK\r\n', 'x: y\r\n'),
  'interim answers that never end': () => pouring('', 'HTTP/1.1 100 Continue\r\n\r\n'),
  'a chunk extension that never ends': () =>
    pouring('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;x=', 'y'),
  'trailers that never end': () =>
    pouring('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n', 'x: y\r\n'),
};

test.each(Object.entries(GIANTS))(
  '%s cost no more memory than a sample',
  async (_what, serve) => {
    const small = createServer((_request, response) => response.end('ok'));
    await withServer(small, async (smallPort) =>
      withServer(serve(), async (port) => {
        const child = join(import.meta.dirname, 'support/memory-child.ts');
        const urls = [smallPort, port].map((each) => `http://127.0.0.1:${each}/`);
        const { stdout } = await promisify(execFile)(process.execPath, [child, ...urls]);
        expect(stdout).toMatch(/^\d+$/);
        expect(Number(stdout)).toBeLessThan(BOUND_KIB);
      }),
    );
  },
  30_000,
);
