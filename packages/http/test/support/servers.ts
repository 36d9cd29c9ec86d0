import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createHttpClient, type HttpClient, type HttpRequest } from '../../src/client.ts';

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
export function rawServer(
  onBytes: (socket: Socket) => void,
  options: { allowHalfOpen?: boolean } = {},
): RawServer {
  let received = '';
  let connections = 0;
  const closed = Promise.withResolvers<void>();
  const server = createServer(options, (socket) => {
    connections += 1;
    socket.on('data', (data) => {
      received += data.toString('latin1');
      onBytes(socket);
    });
    socket.on('close', () => closed.resolve());
  });
  return { server, received: () => received, connections: () => connections, closed: closed.promise };
}

/** A server that writes these bytes to whatever it gets, then leaves the connection open, ends it or resets it. */
export const saying = (text: string, then: 'hold' | 'end' | 'reset' = 'hold'): RawServer =>
  rawServer((socket) => {
    socket.write(text, () => {
      if (then === 'end') socket.end();
      if (then === 'reset') socket.resetAndDestroy();
    });
  });

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

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A fresh self-signed certificate for one DNS name. */
export async function selfSigned(name: string): Promise<Certificate> {
  return inFolder(async (folder) => {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
    await openssl(['req', '-x509', ...NEW_KEY, '-days', '2', ...subject, '-keyout', key, '-out', cert]);
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  });
}

/** A self-signed certificate for one DNS name that was valid for a day of 2020. */
export async function expired(name: string): Promise<Certificate> {
  return inFolder(async (folder) => {
    const at = (file: string): string => join(folder, file);
    // Only `openssl ca` takes dates of the past, and it insists on a folder of its own.
    await writeFile(
      at('ca.cnf'),
      [
        '[ca]\ndefault_ca = own\n[own]',
        `new_certs_dir = ${folder}\ndatabase = ${at('index')}\nserial = ${at('serial')}`,
        'default_md = sha256\npolicy = any\n[any]\ncommonName = supplied',
        `[ext]\nsubjectAltName = DNS:${name}\n`,
      ].join('\n'),
    );
    await writeFile(at('index'), '');
    await writeFile(at('serial'), '01');
    const request = ['-subj', `/CN=${name}`, '-keyout', at('key.pem'), '-out', at('csr.pem')];
    await openssl(['req', '-new', ...NEW_KEY, ...request]);
    const dates = ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z'];
    const files = ['-config', at('ca.cnf'), '-keyfile', at('key.pem'), '-in', at('csr.pem')];
    await openssl([
      'ca',
      '-batch',
      '-selfsign',
      '-extensions',
      'ext',
      ...files,
      ...dates,
      '-out',
      at('cert.pem'),
    ]);
    return { key: await readFile(at('key.pem'), 'utf8'), cert: await readFile(at('cert.pem'), 'utf8') };
  });
}

const openssl = async (args: string[]): Promise<unknown> => promisify(execFile)('openssl', args);

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'breakwater-tls-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
