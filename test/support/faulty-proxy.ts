import { type IncomingMessage, type ServerResponse, createServer, request as send } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pause } from '@breakwater/runtime/poll';

/** What becomes of one request between a client and an ERP. */
export type Fault =
  /** Read, not forwarded, the connection reset. */
  | { readonly kind: 'reset_after_request' }
  /** Forwarded and answered; the answer is dropped and the connection cut. */
  | { readonly kind: 'lost_reply' }
  /** Forwarded at once; the answer is held back until `release` (or so many ms) and then sent. */
  | { readonly kind: 'delayed_reply'; readonly until: Promise<unknown> | number }
  /** Held back and forwarded only then, whatever became of the client meanwhile. */
  | { readonly kind: 'delayed_request'; readonly until: Promise<unknown> | number }
  /** Forwarded twice, one after the other; the client gets the first answer. */
  | { readonly kind: 'delivered_twice' }
  /** Forwarded; status and length are passed on whole, half of the body, then the connection is cut. */
  | { readonly kind: 'truncated_reply' }
  /** The proxy's own answer, not forwarded. */
  | { readonly kind: 'status'; readonly status: number }
  /** Forwarded; the answer that the client gets is no HTTP, or HTTP around something that is not the answer. */
  | { readonly kind: 'garbage'; readonly what: 'http' | 'body' }
  /** Forwarded; the answer comes byte by byte, `everyMs` apart. */
  | { readonly kind: 'slow_drip'; readonly everyMs: number };

export interface Passing {
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

export interface FaultyProxy extends AsyncDisposable {
  readonly url: string;
  /** Requests that were forwarded, each time one was. */
  readonly forwarded: readonly Passing[];
  /** Requests that are held back now, and clients that went away while theirs was. */
  readonly held: { now: number; abandoned: number };
  /** Asked for every request: what to do with it; undefined passes it on. */
  judge: (request: Passing) => Fault | undefined;
  /** Cuts every connection before a byte of it is read. */
  resetConnections: boolean;
  /** Nothing listens any more: connections are refused. */
  refuse(): Promise<void>;
  /** Resolves when nothing that came in is on its way any more, at the server behind either. */
  idle(): Promise<void>;
  /** Where to forward to: an ERP that was restarted may be elsewhere. */
  target: string;
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A proxy in front of an HTTP server, on a real socket, that does to single requests what networks do to them. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  const forwarded: Passing[] = [];
  const running = new Set<Promise<void>>();
  const held = { now: 0, abandoned: 0 };
  const server = createServer((request, response) => {
    const handled = handle(request, response);
    running.add(handled);
    void handled.finally(() => running.delete(handled));
  });
  const proxy: FaultyProxy = {
    url: '',
    forwarded,
    held,
    judge: () => undefined,
    resetConnections: false,
    target,
    async refuse() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      for (const socket of sockets) socket.destroy();
      await closed.promise;
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await proxy.refuse();
    },
  };
  const forward = (passing: Passing, headers: IncomingMessage['headers']): Promise<Reply> => {
    forwarded.push(passing);
    return pass(proxy.target, passing, headers);
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = 'GET', url = '/', headers } = request;
      const passing = { method, url, body: Buffer.concat(chunks).toString() };
      await perform(proxy.judge(passing), response, held, () => forward(passing, headers));
    } catch {
      response.destroy(); // the client or the server behind is gone: so is the connection
    }
  };
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    if (proxy.resetConnections) socket.resetAndDestroy();
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  return Object.assign(proxy, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

async function perform(
  fault: Fault | undefined,
  response: ServerResponse,
  held: FaultyProxy['held'],
  forward: () => Promise<Reply>,
): Promise<void> {
  const socket = response.socket;
  switch (fault?.kind) {
    case undefined:
      return answer(response, await forward());
    case 'reset_after_request':
      socket?.resetAndDestroy();
      return;
    case 'lost_reply':
      await forward();
      socket?.destroy();
      return;
    case 'delayed_reply': {
      const reply = await forward();
      await hold(held, response, fault.until);
      return answer(response, reply);
    }
    case 'delayed_request':
      await hold(held, response, fault.until);
      return answer(response, await forward());
    case 'delivered_twice': {
      const reply = await forward();
      await forward();
      return answer(response, reply);
    }
    case 'truncated_reply': {
      const { status, body } = await forward();
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
      response.write(body.subarray(0, Math.floor(body.length / 2)), () => socket?.destroy());
      return;
    }
    case 'status':
      response.writeHead(fault.status, { 'content-type': 'text/html' }).end('<html>proxy error</html>');
      return;
    case 'garbage':
      await forward();
      if (fault.what === 'http') socket?.end('\u0000\u0001 this is no HTTP at all\r\n\r\n');
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<html>please log in</html>');
      return;
    case 'slow_drip': {
      const { status, body } = await forward();
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
      for (const byte of body) {
        if (response.destroyed) return;
        response.write(Buffer.of(byte));
        await pause(fault.everyMs);
      }
      response.end();
    }
  }
}

function answer(response: ServerResponse, { status, headers, body }: Reply): void {
  if (response.destroyed) return;
  const { 'transfer-encoding': _encoding, connection: _connection, ...kept } = headers;
  response.writeHead(status, { ...kept, 'content-length': body.length }).end(body);
}

async function hold(
  held: FaultyProxy['held'],
  response: ServerResponse,
  until: Promise<unknown> | number,
): Promise<void> {
  const onGone = (): void => void (held.abandoned += 1);
  held.now += 1;
  response.once('close', onGone);
  await (typeof until === 'number' ? pause(until) : until);
  response.off('close', onGone);
  held.now -= 1;
}

function pass(
  target: string,
  { method, url, body }: Passing,
  headers: IncomingMessage['headers'],
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const { host: _host, connection: _connection, ...kept } = headers;
  const outgoing = send(new URL(url, target), { method, headers: kept, agent: false }, (incoming) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', reject);
    incoming.on('end', () =>
      resolve({ status: incoming.statusCode ?? 502, headers: incoming.headers, body: Buffer.concat(chunks) }),
    );
  });
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}
