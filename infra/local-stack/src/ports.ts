import { connect, createServer } from 'node:net';

export interface PortUse {
  readonly port: number;
  /** Who would listen there, in words. */
  readonly use: string;
}

/** Those of `wanted` that something else listens on. */
export async function findTaken(wanted: readonly PortUse[], host: string): Promise<readonly PortUse[]> {
  const taken = await Promise.all(wanted.map(async ({ port }) => !(await isFree(port, host))));
  return wanted.filter((_, index) => taken[index]);
}

/**
 * True when a server could listen on the port of `host`. Connecting is tried as well: macOS lets a socket listen on one
 * address although another has the port on all of them.
 */
export async function isFree(port: number, host: string): Promise<boolean> {
  return (await canListen(port, host)) && !(await canConnect(port, host));
}

function canListen(port: number, host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  // Another error (no such address) is the service's to report: it would name the port for no reason.
  server.once('error', (error) => resolve(!('code' in error && error.code === 'EADDRINUSE')));
  server.listen({ port, host }, () => server.close(() => resolve(true)));
  return promise;
}

function canConnect(port: number, host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host });
  const settle = (connected: boolean): void => {
    socket.destroy();
    resolve(connected);
  };
  socket.once('connect', () => settle(true));
  socket.once('error', () => settle(false));
  socket.setTimeout(1_000, () => settle(false));
  return promise;
}
