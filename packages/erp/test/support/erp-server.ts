import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { HttpAdapter } from '@breakwater/contracts/target-config';

/** What the server does with the next requests. */
export type Behaviour =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string | Buffer;
    }
  /** The connection is cut as soon as it is there, before the request is read. */
  | { readonly kind: 'cut_on_connect' }
  /** The request is read completely, then the connection is cut. */
  | { readonly kind: 'cut_after_request' }
  | { readonly kind: 'hang' }
  /** Headers, part of the body that was announced (the part alone is valid JSON), then the connection is cut. */
  | { readonly kind: 'cut_in_body'; readonly status: number };

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface ErpServer extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  behave(behaviour: Behaviour): void;
  /** Resolves when a request has been read. */
  nextRequest(): Promise<void>;
}

/** An ERP that misbehaves on demand, on a real socket. */
export async function startErpServer(): Promise<ErpServer> {
  let behaviour: Behaviour = { kind: 'answer', status: 500 };
  let arrived = Promise.withResolvers<void>();
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      received.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      perform(behaviour, request, response);
      arrived.resolve();
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    if (behaviour.kind === 'cut_on_connect') socket.destroy();
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    behave(next) {
      behaviour = next;
      arrived = Promise.withResolvers();
    },
    nextRequest: () => arrived.promise,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      for (const socket of sockets) socket.destroy();
      await closed.promise;
    },
  };
}

function perform(behaviour: Behaviour, request: IncomingMessage, response: ServerResponse): void {
  switch (behaviour.kind) {
    case 'answer':
      response.writeHead(behaviour.status, { 'content-type': 'application/json', ...behaviour.headers });
      response.end(behaviour.body ?? '{}');
      return;
    case 'cut_in_body':
      response.writeHead(behaviour.status, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"receipts":[]}', () => request.socket.destroy());
      return;
    case 'cut_after_request':
    case 'cut_on_connect':
      request.socket.destroy();
      return;
    case 'hang':
  }
}

/** For tests that wait for it: short, yet long enough for a busy machine to have sent the request. */
export const SHORT = { timeout: '1500ms' };

const CONFIG = {
  kind: 'http',
  headers: { Authorization: 'Bearer s3cret-token' },
  idempotencyHeader: 'Idempotency-Key',
  post: {
    path: '"/api/receipts"',
    timeout: '10s',
    answers: { posted: [201], duplicate: [409], rejected: [422], failed: [503] },
    receipt: 'answer.receipt_no',
  },
  find: {
    path: '"/api/receipts?external_reference=" & $encodeUrlComponent(reference)',
    timeout: '10s',
    hits: 'answer.receipts',
    receipt: 'hit.receipt_no',
    sameEvent: 'hit.order_id = event.data.order_id',
  },
  count: { path: '"/api/stats"', timeout: '10s', value: 'answer.postings' },
};

/** Configuration of an `http` adapter for this server. `changes` replaces members of the top level ... */
export const adapterConfig = (url: string, changes: Record<string, unknown> = {}): HttpAdapter =>
  HttpAdapter.parse({ ...CONFIG, baseUrl: url, ...changes });

/** ... and this makes one that replaces members of a part. */
export const changed = (part: 'post' | 'find' | 'count', members: object): Record<string, unknown> => ({
  [part]: { ...CONFIG[part], ...members },
});
