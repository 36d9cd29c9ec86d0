import { createConnection, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface Hold {
  /** Is this what the process must be stopped at? Asked of what it sends, with the end of what it sent before. */
  readonly at: (sent: string) => boolean;
  /** `before`: Redis never sees the command. `after`: Redis gets it, and the process never learns what came of it. */
  readonly when: 'before' | 'after';
  /** Which of the commands that match; the first when left out. */
  readonly nth?: number;
  /** Only the connection that came to the step is held; the others of the process go on. */
  readonly alone?: true;
}

export interface RedisProxy {
  readonly url: string;
  /** Resolves when the process has come to the step; from then on nothing passes (`alone`: of that connection). */
  readonly reached: Promise<void>;
  /** What was held goes on, in order. */
  readonly release: () => void;
  readonly close: () => Promise<void>;
}

const TAIL = 4_096; // a command may come in pieces

/** Stands between one process and Redis, and holds it at one exact step. */
export async function startRedisProxy(redisUrl: string, hold: Hold): Promise<RedisProxy> {
  const reached = Promise.withResolvers<void>();
  const target = Number(new URL(redisUrl).port);
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let seen = 0;
  let state: 'open' | 'held' = 'open';
  let stopped: Socket | undefined;
  const pass = (client: Socket, write: () => void): void =>
    void (state === 'held' && (!hold.alone || stopped === client) ? held.push(write) : write());
  const server = createServer((client) => {
    const upstream = createConnection(target, '127.0.0.1');
    let tail = '';
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => {
      const text = tail + chunk.toString('latin1');
      tail = text.slice(-TAIL);
      if (state === 'open' && hold.at(text)) {
        tail = '';
        seen += 1;
        if (seen === (hold.nth ?? 1)) {
          if (hold.when === 'after') upstream.write(chunk);
          else held.push(() => upstream.write(chunk));
          state = 'held';
          stopped = client;
          reached.resolve();
          return;
        }
      }
      pass(client, () => upstream.write(chunk));
    });
    upstream.on('data', (chunk: Buffer) => pass(client, () => client.write(chunk)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached: reached.promise,
    release() {
      state = 'open';
      seen = Number.NEGATIVE_INFINITY; // once is enough
      for (const write of held.splice(0)) write();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
