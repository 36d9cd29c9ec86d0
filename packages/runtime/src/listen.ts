import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from './errors.ts';

/** Listens and resolves to the port in use (give 0 for any). Throws AppError port_taken with a sentence for a person. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  const ready = Promise.withResolvers<void>();
  server.once('error', ready.reject);
  server.listen(port, host, ready.resolve);
  try {
    await ready.promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      throw new AppError('port_taken', `Port ${port} on ${host} is already in use.`, { cause: error });
    }
    throw error;
  }
  server.off('error', ready.reject);
  return (server.address() as AddressInfo).port;
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
  await closed.promise;
  clearInterval(idle);
  clearTimeout(deadline);
}
