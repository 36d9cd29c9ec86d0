import { createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Source } from '@breakwater/contracts/source-config';
import type { AcceptResult, IncomingEvent } from '@breakwater/core/accept';
import { closeServer, listen } from '@breakwater/runtime/listen';
import { createLogger } from '@breakwater/runtime/logger';
import { createIngestMetrics } from '@breakwater/runtime/metrics-ingest';
import { createRegistry } from '@breakwater/runtime/metrics-process';
import { createRouter, type RouterDeps } from '../src/router.ts';
import { createIngestServer } from '../src/server.ts';

export const SECRET = 'a secret for tests';
export const SIGNATURE = 'x-signature';

/** A source as configuration gives it: HMAC-SHA256 of the body in `x-signature: sha256=<hex>`, event id at /id. */
export function sourceWith(changes: Record<string, unknown> = {}): Source {
  return Source.parse({
    secrets: [{ id: 'first', value: SECRET }],
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: { header: SIGNATURE, prefix: 'sha256=', encoding: 'hex' },
    },
    eventId: { pointer: '/id' },
    ...changes,
  });
}

export function sign(body: string | Buffer, secret = SECRET): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

export interface Rig {
  readonly port: number;
  readonly server: Server;
  /** Everything that reached the acceptor, in order. */
  readonly events: IncomingEvent[];
  /** Text of the metrics. */
  readonly metrics: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Ingest on a port of its own. Its acceptor keeps events in a list and accepts, unless `accept` says otherwise. */
export async function startIngest(
  sources: Record<string, Source>,
  options: Partial<RouterDeps> & { readonly accept?: (event: IncomingEvent) => Promise<AcceptResult> } = {},
): Promise<Rig> {
  const { accept, ...deps } = options;
  const events: IncomingEvent[] = [];
  const registry = createRegistry();
  const router = createRouter({
    sources,
    acceptor: {
      accept: async (event) => {
        events.push(event);
        return accept ? accept(event) : { kind: 'accepted' };
      },
    },
    metrics: createIngestMetrics(registry, Object.keys(sources)),
    logger: createLogger({ service: 'ingest-test', level: 'silent' }),
    isClosing: () => false,
    ...deps,
  });
  const server = createIngestServer(router);
  const port = await listen(server, 0, '127.0.0.1');
  return { port, server, events, metrics: () => registry.metrics(), close: () => closeServer(server, 1_000) };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
}

/** One request on a connection of its own. The path goes out as it is written. */
export async function call(
  port: number,
  { method = 'POST', path = '/webhooks/demo', headers = {}, body }: Call,
): Promise<Answer> {
  const answered = Promise.withResolvers<Answer>();
  const request = httpRequest(
    { host: '127.0.0.1', port, method, path, headers, agent: false },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', answered.reject);
      response.on('end', () =>
        answered.resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    },
  );
  request.on('error', answered.reject);
  request.end(body);
  return answered.promise;
}

/** A signed webhook to the source `demo`. */
export async function deliver(
  port: number,
  body: string | Buffer,
  headers: Record<string, string | string[]> = {},
): Promise<Answer> {
  return call(port, { body, headers: { [SIGNATURE]: sign(body), ...headers } });
}

export const codeOf = (answer: Answer): unknown =>
  (JSON.parse(answer.text) as { error?: { code: string } }).error?.code;

export interface RawConnection {
  readonly socket: Socket;
  /** What the server has sent so far. */
  readonly text: () => string;
  /** Resolves when `pattern` has arrived; rejects when the connection ends first. */
  readonly until: (pattern: RegExp) => Promise<string>;
  /** Resolves when the connection is gone, however it went. */
  readonly closed: Promise<void>;
}

/** A connection that says exactly what it is told to. */
export async function connectRaw(port: number): Promise<RawConnection> {
  const connected = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const socket = connect(port, '127.0.0.1', connected.resolve);
  let text = '';
  const waiting = new Set<() => void>();
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    for (const check of waiting) check();
  });
  socket.on('error', connected.reject); // a reset is one way to be closed
  socket.on('close', () => {
    closed.resolve();
    for (const check of waiting) check();
  });
  await connected.promise;
  const until = async (pattern: RegExp): Promise<string> => {
    const arrived = Promise.withResolvers<string>();
    const check = (): void => {
      if (pattern.test(text)) arrived.resolve(text);
      else if (socket.destroyed) arrived.reject(new Error(`closed after ${JSON.stringify(text)}`));
    };
    waiting.add(check);
    check();
    return arrived.promise.finally(() => waiting.delete(check));
  };
  return { socket, text: () => text, until, closed: closed.promise };
}

/** Waits for a condition. Throws when it is not met in time. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = 5_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
