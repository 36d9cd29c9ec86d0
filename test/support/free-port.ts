import { isFree } from '@breakwater/local-stack/ports';

/**
 * A port of 127.0.0.1 that nothing listens on, from below the range of outgoing connections (32768 on Linux, 49152 on
 * macOS). From inside it, a server that is stopped and started again may find its port used by somebody's client; and
 * a client that keeps trying a dead port can even connect to itself.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port, '127.0.0.1')) return port;
  }
  throw new Error('no free port between 20000 and 32000');
}
