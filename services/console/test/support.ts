import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { afterEach } from '@jest/globals';
import { createLogger } from '@breakwater/runtime/logger';
import { start, type Timing, TIMING } from '../src/app.ts';

const stack: (() => unknown)[] = [];
export const afterwards = (close: () => unknown): void => void stack.push(close);
afterEach(async () => {
  for (const close of stack.splice(0).toReversed()) await close();
}, 60_000);

export interface ConsoleOptions {
  readonly redisUrl: string;
  readonly keyPrefix: string;
  readonly breakwater: BreakwaterConfig;
  readonly timing?: Partial<Timing>;
}

/** A console as `npm start` runs it, in this process. */
export async function openConsole({ redisUrl, keyPrefix, breakwater, timing }: ConsoleOptions) {
  const stopping = new AbortController();
  const closing = new AsyncDisposableStack();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await closing.disposeAsync(); // a second time it does nothing
  };
  afterwards(stop);
  const { opsPort } = await start(
    {
      host: '127.0.0.1',
      port: 0,
      opsPort: 0,
      redisUrl,
      keyPrefix,
      breakwater,
      durability: 'relaxed',
      shutdownTimeoutMs: 30_000,
    },
    {
      logger: createLogger({ service: 'console-test', level: 'silent' }),
      signal: stopping.signal,
      defer: (_label, close) => closing.defer(async () => void (await close())),
    },
    { ...TIMING, ...timing },
  );
  const url = `http://127.0.0.1:${opsPort}`;
  return {
    stop,
    ready: async () => (await fetch(`${url}/readyz`)).status === 200,
    /** One scrape: series with their labels -> value. Rejects when it is not answered with 200 in time. */
    async scrape(withinMs = 5_000): Promise<ReadonlyMap<string, number>> {
      const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(withinMs) });
      if (response.status !== 200) throw new Error(`the scrape was answered ${response.status}`);
      return new Map(
        (await response.text())
          .split('\n')
          .filter((line) => line.startsWith('breakwater_'))
          .map((line) => [
            line.slice(0, line.lastIndexOf(' ')),
            Number(line.slice(line.lastIndexOf(' ') + 1)),
          ]),
      );
    },
  };
}
