import { createHmac, timingSafeEqual } from 'node:crypto';
import { createRegistry } from '@breakwater/runtime/metrics-process';
import { Queue } from 'bullmq';
import express, { type Request } from 'express';
import { Redis } from 'ioredis';

// What a careful team writes in an afternoon: express.json with the raw body kept, an HMAC check, queue.add with the
// event id as job id. It forgets an id when its job is removed and loses events when Redis is not durable; the bench
// compares only what both do.
const queue = new Queue('baseline', {
  connection: new Redis(process.env['REDIS_URL'] ?? '', { maxRetriesPerRequest: null }),
  prefix: '{bench}',
});
const registry = createRegistry();
const app = express();
app.use(
  express.json({ verify: (request: Request & { raw?: Buffer }, _response, raw) => void (request.raw = raw) }),
);
app.post('/webhooks/demo-payments', async (request: Request & { raw?: Buffer }, response) => {
  const expected = createHmac('sha256', 'demo-webhook-secret')
    .update(request.raw ?? '')
    .digest();
  const given = Buffer.from(String(request.headers['x-signature']).replace('sha256=', ''), 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    return void response.sendStatus(401);
  const event = request.body as { event_id: string };
  await queue.add('event', event, { jobId: event.event_id });
  response.json({ ok: true });
});
app.get('/metrics', async (_request, response) => response.type('text').send(await registry.metrics()));
await queue.waitUntilReady();
app.listen(Number(process.env['PORT']), '127.0.0.1');
