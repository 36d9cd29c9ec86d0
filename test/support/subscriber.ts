import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  /** ms, monotonic. */
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Subscriber {
  readonly url: string;
  readonly received: readonly Received[];
  /** Status of the next answers, one each; the last one is repeated. */
  answer: (...statuses: number[]) => void;
  readonly close: () => Promise<void>;
}

/** A subscriber that answers what it is told to, and remembers what it was sent. */
export async function startSubscriber(...statuses: number[]): Promise<Subscriber> {
  const received: Received[] = [];
  let queue = [...statuses];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        at: performance.now(),
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      const status = (queue.length > 1 ? queue.shift() : queue[0]) ?? 200;
      response.writeHead(status, { 'content-type': 'text/plain' }).end(`answer ${received.length}`);
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
