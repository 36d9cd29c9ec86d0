import { isFree } from '@breakwater/local-stack/ports';

/**
 * A port of 127.0.0.1 that nothing listens on, from below the range of outgoing connections (32768 on Linux, 49152 on
 * macOS). From inside it, a server that is stopped and started again may find its port used by somebody's client; and
 * a client that keeps trying a dead port can even connect to itself.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries += 1) {
    const port = FIRST_PORT + PORTS_PER_WORKER * (worker - 1) + (next++ % PORTS_PER_WORKER);
    if (await isFree(port, '127.0.0.1')) return port;
  }
  throw new Error('no free port is left');
}

// Every Jest worker has a range of its own and hands each port out once, since a port is free until somebody listens.
const FIRST_PORT = 20_000;
const PORTS_PER_WORKER = 1_000;
const worker = ((Number(process.env['JEST_WORKER_ID'] ?? 1) - 1) % 12) + 1;
/** Workers are started anew for each run, and test files share a worker but not this module. */
let next = Math.floor(Math.random() * PORTS_PER_WORKER);
