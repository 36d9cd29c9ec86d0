import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createHttpClient, type HttpClient, type HttpRequest } from '../src/client.ts';

/** Runs `use` with a port of `server` on 127.0.0.1 and closes everything afterwards, hanging sockets included. */
export async function withServer(server: Server, use: (port: number) => Promise<void>): Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use((server.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  }
}

export interface RawServer {
  readonly server: Server;
  /** Everything that ever arrived. */
  readonly received: () => string;
  readonly connections: () => number;
  /** Settled when the first connection has ended: nothing can arrive on it any more. */
  readonly closed: Promise<void>;
}

/** A TCP server that calls `onBytes` with whatever arrives. */
export function rawServer(onBytes: (socket: Socket) => void): RawServer {
  let received = '';
  let connections = 0;
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    connections += 1;
    socket.on('data', (data) => {
      received += data.toString('latin1');
      onBytes(socket);
    });
    socket.on('close', () => closed.resolve());
  });
  return { server, received: () => received, connections: () => connections, closed: closed.promise };
}

export async function withClient(
  use: (client: HttpClient) => Promise<void>,
  client = createHttpClient({}),
): Promise<void> {
  try {
    await use(client);
  } finally {
    client.close();
  }
}

/** A POST to `port` with everything that a test does not care about filled in. */
export function post(port: number, rest: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'POST',
    url: `http://127.0.0.1:${port}/hook`,
    headers: { 'content-type': 'application/json' },
    body: '{"id":"evt_1"}',
    timeoutMs: 5_000,
    maxBodyBytes: 2_048,
    ...rest,
  };
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A fresh self-signed certificate for one DNS name. */
export async function selfSigned(name: string): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'breakwater-tls-'));
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  try {
    await promisify(execFile)('openssl', [
      'req',
      '-x509',
      ...kind,
      ...subject,
      '-keyout',
      keyFile,
      '-out',
      certFile,
    ]);
    return { key: await readFile(keyFile, 'utf8'), cert: await readFile(certFile, 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
