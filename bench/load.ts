import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers other than 200. */
  readonly failed: number;
}

export interface Load {
  readonly url: string;
  /** Number of the event of each request: unique, or from a small set in a storm. */
  readonly events: readonly number[];
  readonly run: string;
  readonly concurrency: number;
  /** Requests per second; as many as possible when left out. */
  readonly rate?: number;
}

/** Sends signed events of about 1 KB. Bodies are made and signed beforehand, so that the generator measures little of itself. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: load.concurrency });
  const bodies = new Map<number, { body: Buffer; signature: string }>();
  for (const event of load.events) if (!bodies.has(event)) bodies.set(event, makeBody(load.run, event));
  const times: number[] = [];
  let failed = 0;
  let next = 0;
  const started = performance.now();
  const work = async (): Promise<void> => {
    for (let index = next++; index < load.events.length; index = next++) {
      if (load.rate !== undefined) {
        const due = started + (index / load.rate) * 1_000;
        const early = due - performance.now();
        if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
      }
      const made = bodies.get(load.events[index] ?? 0);
      if (!made) continue;
      const sentAt = performance.now();
      const status = await send(load.url, made, agent);
      times.push(performance.now() - sentAt);
      if (status !== 200) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: load.concurrency }, work));
  const seconds = (performance.now() - started) / 1_000;
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
  return {
    perSecond: times.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: times.at(-1) ?? 0,
    failed,
  };
}

function makeBody(run: string, event: number): { body: Buffer; signature: string } {
  const body = Buffer.from(
    JSON.stringify({
      event_id: `${run}-${event}`,
      type: 'order.paid',
      order_id: `o-${event}`,
      warehouse: `W${event % 10}`,
      lines: [{ sku: 'MILK-1L', quantity: 1 }],
      note: 'x'.repeat(850),
    }),
  );
  return {
    body,
    signature: `sha256=${createHmac('sha256', 'demo-webhook-secret').update(body).digest('hex')}`,
  };
}

function send(
  url: string,
  { body, signature }: { body: Buffer; signature: string },
  agent: Agent,
): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      url,
      {
        method: 'POST',
        agent,
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          'x-signature': signature,
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', () => resolve(0));
      },
    );
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}
