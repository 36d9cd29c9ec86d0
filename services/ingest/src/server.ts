import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { codeOf } from '@breakwater/runtime/errors';

/**
 * Sockets of one process; further ones are closed at once. Providers and load balancers hold a few hundred; without a
 * bound idle strangers would take every file descriptor.
 */
const MAX_CONNECTIONS = 4_096;

/** The HTTP server of ingest with time limits for clients that are slow, on purpose or not. Not yet listening. */
export function createIngestServer(listener: RequestListener): Server {
  const server = createServer(
    {
      requestTimeout: 15_000, // whole requests; Node allows 5 minutes, and a provider has given up long before
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5_000, // how late the two above may strike; Node looks every 30 s
      keepAliveTimeout: 65_000, // longer than a load balancer keeps idle ones (60 s), or it would reuse a closed socket
    },
    listener,
  );
  server.maxConnections = MAX_CONNECTIONS;
  // Without this listener Node itself asks for the body, even of uploads that will be refused by their declared length.
  server.on('checkContinue', listener);
  // Node would answer 417 to an expectation that it does not know: a 4xx for an event that nothing is wrong with.
  server.on('checkExpectation', listener);
  answerProtocolErrors(server);
  return server;
}

const STATUS_OF_CODE: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * Answers what is no HTTP. Node would also answer 400 for a stray byte behind a complete request, in the place of that
 * request's own answer: the event might be stored, and the provider be told that it was refused. On one connection several
 * requests may be under way (pipelining), so all that are complete get their answers first.
 */
function answerProtocolErrors(server: Server): void {
  const underWay = new WeakMap<Duplex, Set<ServerResponse>>();
  const remember = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const responses = underWay.get(socket) ?? new Set();
    underWay.set(socket, responses.add(response));
    response.once('close', () => responses.delete(response));
  };
  server.prependListener('request', remember);
  server.prependListener('checkContinue', remember);
  server.prependListener('checkExpectation', remember);
  server.on('clientError', (error, socket) => {
    const last = [...(underWay.get(socket) ?? [])].findLast(
      ({ req, writableFinished }) => req.complete && !writableFinished,
    );
    if (last !== undefined) {
      last.once('close', () => socket.destroy());
      return;
    }
    const status = STATUS_OF_CODE[codeOf(error) ?? ''] ?? '400 Bad Request';
    const body = JSON.stringify({
      ok: false,
      error: { code: 'request_invalid', message: 'This is not a valid HTTP request.' },
    });
    if (!socket.writable) return void socket.destroy();
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
}
