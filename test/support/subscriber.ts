import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  /** ms, monotonic. */
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A status with a text that says nothing, or a whole answer. */
export type SubscriberAnswer =
  | number
  | { readonly status: number; readonly contentType: string; readonly body: string | Buffer };

export interface Subscriber {
  readonly url: string;
  readonly received: readonly Received[];
  /** The next answers, one each; the last one is repeated. */
  answer: (...answers: SubscriberAnswer[]) => void;
  readonly close: () => Promise<void>;
}

/** A subscriber that answers what it is told to, and remembers what it was sent. */
export async function startSubscriber(...answers: SubscriberAnswer[]): Promise<Subscriber> {
  const received: Received[] = [];
  let queue = [...answers];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        at: performance.now(),
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      const next = (queue.length > 1 ? queue.shift() : queue[0]) ?? 200;
      const { status, contentType, body } =
        typeof next === 'number'
          ? { status: next, contentType: 'text/plain', body: `answer ${received.length}` }
          : next;
      response.writeHead(status, { 'content-type': contentType }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    answer: (...next) => (queue = [...next]),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
