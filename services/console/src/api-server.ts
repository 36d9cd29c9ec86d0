import { createServer, type RequestListener, type Server } from 'node:http';

/** The HTTP server of the console, with time limits for clients that are slow. Not yet listening. */
export function createApiServer(listener: RequestListener): Server {
  const server = createServer(
    {
      requestTimeout: 30_000,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5_000,
      keepAliveTimeout: 65_000, // longer than a load balancer keeps idle connections (60 s)
    },
    listener,
  );
  server.maxConnections = 1_024; // people and scripts; strangers must not take every file descriptor
  return server;
}
