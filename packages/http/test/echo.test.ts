import { createServer } from 'node:http';
import { expect, test } from '@jest/globals';
import { createHttpClient } from '../src/client.ts';
import { parseRetryAfterMs } from '../src/retry-after.ts';
import { sampleOf } from '../src/sample.ts';
import { post, saying, withClient, withServer } from './support/servers.ts';

test('credentials of the request are masked in the sample of an answer that echoes them, and what is none is not', async () => {
  const echo = createServer((request, response) => response.end(JSON.stringify(request.headers)));
  const headers = {
    authorization: 'Basic c2hvcnQ=',
    'webhook-signature': 'v1a,firstsignature00 v1a,secondsignature0',
    'X-Api-Key': 'k-123456',
    'webhook-id': 'evt_12345678',
    'idempotency-key': 'order-12345678',
  };
  await withServer(echo, async (port) =>
    withClient(
      async (client) => {
        const outcome = await client.request(post(port, { headers }));
        const text = outcome.kind === 'response' ? sampleOf(outcome, []).text : '';
        expect(JSON.parse(text)).toMatchObject({
          authorization: '[redacted]',
          'webhook-signature': '[redacted]',
          'x-api-key': '[redacted]',
          'webhook-id': 'evt_[redacted]',
          'idempotency-key': 'order-12345678',
        });
      },
      createHttpClient({ redact: ['evt_(\\d+)'] }),
    ),
  );
});

const NOW = Date.parse('2026-03-01T00:00:00Z');

test.each([
  ['seconds', ['120'], 120_000],
  ['a date', ['Sun, 01 Mar 2026 00:02:00 GMT'], 120_000],
  ['several headers: the first', ['120', '7'], 120_000],
  ['a list in one header: none', ['120, 7'], undefined],
  ['a past date', ['Sun, 01 Mar 2020 00:00:00 GMT'], undefined],
  ['garbage', ['soon'], undefined],
  ['a negative number', ['-5'], undefined],
  ['a huge number', ['9'.repeat(400)], 86_400_000],
  ['nothing', [''], undefined],
])('Retry-After as it arrives, %s', async (_what, values, wait) => {
  const lines = values.map((value) => `Retry-After: ${value}\r\n`).join('');
  const { server } = saying(`HTTP/1.1 503 Busy\r\n${lines}content-length: 0\r\n\r\n`);
  await withServer(server, async (port) =>
    withClient(async (client) => {
      const outcome = await client.request(post(port));
      const header = outcome.kind === 'response' ? outcome.headers['retry-after'] : 'no answer';
      expect(parseRetryAfterMs(String(header), NOW)).toBe(wait);
    }),
  );
});
