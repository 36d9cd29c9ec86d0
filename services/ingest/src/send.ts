import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from './answers.ts';

/**
 * How long a connection stays after an answer that came before the end of the upload. Closing at once would make the
 * kernel send a reset, which can reach a client that is still writing before it has read the answer.
 */
const LINGER_MS = 500;

/** Statuses that carry no body (RFC 9110). */
const BODILESS = new Set([204, 205, 304]);

/** Writes an answer. `lastOne`: the server is closing, so the client is told to connect anew, elsewhere. */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  lastOne: boolean,
): void {
  if (response.headersSent || response.destroyed) return;
  const unread = hasBody(request) && !request.complete;
  const body = BODILESS.has(reply.status) ? undefined : Buffer.from(reply.body, 'utf8');
  response.statusCode = reply.status;
  if (body !== undefined) {
    response.setHeader('content-type', reply.contentType);
    response.setHeader('content-length', body.length);
  }
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  if (unread || lastOne) response.setHeader('connection', 'close');
  if (unread) linger(request, response, body);
  else response.end(body);
}

function hasBody(request: IncomingMessage): boolean {
  return (
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  );
}

/**
 * Sends the whole answer but does not end the response, because Node then closes the socket in the same instant. What
 * still arrives is thrown away, for LINGER_MS at most, whatever the client does.
 */
function linger(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): void {
  response.flushHeaders();
  if (body !== undefined) response.write(body);
  const timer = setTimeout(() => request.socket.destroy(), LINGER_MS);
  response.once('close', () => clearTimeout(timer));
  request.once('end', () => response.end());
  request.resume();
}
