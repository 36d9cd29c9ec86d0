import { createServer, type RequestListener, type Server } from 'node:http';

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
  return server;
}
