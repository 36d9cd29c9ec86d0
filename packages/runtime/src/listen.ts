import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, codeOf } from './errors.ts';

/** Listens and resolves to the port in use (give 0 for any). Throws AppError port_taken with a sentence for a person. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  const ready = Promise.withResolvers<void>();
  watchConnections(server);
  server.once('error', ready.reject);
  server.listen(port, host, ready.resolve);
  try {
    await ready.promise;
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') {
      throw new AppError('port_taken', `Port ${port} on ${host} is already in use.`, { cause: error });
    }
    throw error;
  }
  server.off('error', ready.reject);
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

const connections = new WeakMap<Server, Set<Socket>>();

function watchConnections(server: Server): void {
  const sockets = new Set<Socket>();
  connections.set(server, sockets);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
}

/**
 * Stops taking connections, lets requests in flight finish, and cuts what is left after `graceMs`. Idle keep-alive
 * sockets are closed again and again, since a socket that was busy at first would otherwise linger for its time-out.
 */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
  server.closeIdleConnections();
  // Node does not count a connection that never sent a byte as idle, and would wait for it.
  for (const socket of connections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy();
  await closed.promise;
  clearInterval(idle);
  clearTimeout(deadline);
}
