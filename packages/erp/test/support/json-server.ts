import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Asked {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

export interface Answered {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly text?: string;
}

export interface JsonServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly Asked[];
}

/** A server whose answers a function makes of the requests; undefined is a 404. */
export async function startJsonServer(
  answer: (asked: Asked) => Answered | undefined | Promise<Answered | undefined>,
): Promise<JsonServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => void serve(request, response));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://erp.test');
    const one: Asked = {
      method: request.method ?? '',
      url: request.url ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body: await text(request),
    };
    asked.push(one);
    const {
      status = 200,
      headers = {},
      json,
      text: plain,
    } = (await answer(one)) ?? { status: 404, json: {} };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(plain ?? (json === undefined ? '' : JSON.stringify(json)));
  };
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}
