/**
 * Asks each URL of its arguments several times at once and prints how far the process' memory grew in all, in KiB. A
 * process of its own, so that the servers' memory and a test runner's do not count.
 */
import { createHttpClient } from '../../src/client.ts';
import { SAMPLE_READ_BYTES } from '../../src/sample.ts';

const AT_ONCE = 10;
const [warmUp = '', ...urls] = process.argv.slice(2);
const client = createHttpClient({});

async function ask(url: string): Promise<void> {
  const request = {
    method: 'POST',
    url,
    headers: {},
    body: '{}',
    timeoutMs: 3_000,
    maxBodyBytes: SAMPLE_READ_BYTES,
  };
  await Promise.all(Array.from({ length: AT_ONCE }, async () => client.request(request)));
}

await ask(warmUp);
const before = process.resourceUsage().maxRSS; // the most that it ever was, so nothing is missed between two looks
for (const url of urls) await ask(url);
process.stdout.write(String(process.resourceUsage().maxRSS - before));
client.close();
