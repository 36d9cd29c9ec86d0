import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { demoSignature } from '../support/webhook.ts';

/** What node takes in a container of 512 MiB, as the compose file gives it. */
const HEAP_MIB = 256;
/** A body as large as a source takes by default, of objects that are twenty times larger in memory than as text. */
const COUNT = 8;
const MAX_BODY_BYTES = 1_048_576;

function largest(id: string): string {
  const [head, tail] = [
    `{"event_id":"${id}","type":"order.paid","order_id":"${id}","warehouse":"${id}","lines":[`,
    '{}]}',
  ];
  return `${head}${'{},'.repeat(Math.floor((MAX_BODY_BYTES - head.length - tail.length) / 3))}${tail}`;
}

test('a burst of the largest events, full of small objects, ends no consumer: they are posted as memory allows', async () => {
  await using stack = new AsyncDisposableStack();
  const posted: number[] = [];
  const erp = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      let bytes = 0;
      for await (const chunk of request) bytes += (chunk as Buffer).length;
      await pause(500); // all of them would be in flight at once
      if (request.method === 'POST') posted.push(bytes);
      response
        .writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ receipts: [] }));
    };
    void answer().catch(() => response.destroy());
  });
  const listening = Promise.withResolvers<void>();
  erp.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  stack.defer(() => {
    erp.closeAllConnections();
    erp.close();
  });
  const demonstration = readFileSync(join(import.meta.dirname, '../../breakwater.config.yaml'), 'utf8');
  const rig = await startRig({
    config: demonstration.replace('"lines": data.lines', '"event": data'),
    services: ['ingest', 'dispatcher', 'erp-consumer'],
    env: {
      ERP_SIMULATOR_URL: `http://127.0.0.1:${(erp.address() as AddressInfo).port}`,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
    },
  });
  stack.defer(() => rig.close());
  for (let nth = 0; nth < COUNT; nth += 1) {
    const body = largest(`large-${nth}`);
    const answer = await fetch(`${rig.ingestUrl}/webhooks/demo-payments`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-signature': demoSignature(body) },
    });
    expect(answer.status).toBe(200);
  }
  await waitUntil(() => posted.length === COUNT, { what: 'every document to be posted', timeoutMs: 90_000 });
  for (const bytes of posted) expect(bytes).toBeGreaterThan(MAX_BODY_BYTES - 100);
}, 150_000);
