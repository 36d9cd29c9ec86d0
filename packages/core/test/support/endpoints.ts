import { createServer, type IncomingHttpHeaders } from 'node:http';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, newId } from '@breakwater/contracts/ids';
import { createHttpClient } from '@breakwater/http/client';
import { createEgressGuard } from '@breakwater/http/egress';
import { closeServer, listen } from '@breakwater/runtime/listen';
import { createSecretBox } from '@breakwater/store/secret-box';
import { addEndpoint, type NewEndpoint } from '../../src/endpoints.ts';
import { createAttempts } from '../../src/attempts.ts';
import { createEndpointSender } from '../../src/send-to-endpoint.ts';
import { afterwards, silent } from './acceptor.ts';
import { openWork } from './deliveries.ts';

export const [OLD_KEY, NEW_KEY] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [
  string,
  string,
];
/** `X-Api-Key` of the endpoints here: it must show nowhere. */
export const API_KEY = 'top-secret-api-key';

export const CONFIG = BreakwaterConfig.parse({
  egress: { allowHttp: true, allow: ['127.0.0.0/8'] },
  sources: Object.fromEntries(
    ['shop', 'bank'].map((name) => [
      name,
      {
        secrets: [{ id: 'a', value: 'b' }],
        auth: { kind: 'signature', algorithm: 'hmac-sha256', signature: { header: 'x', encoding: 'hex' } },
        eventId: { pointer: '/id' },
      },
    ]),
  ),
});

/** Endpoints with what works on them, in a key space of its own. */
export function openEndpoints(encryptionKeys: readonly string[] = [OLD_KEY]) {
  const work = openWork();
  const deps = { ...work, config: CONFIG, secrets: createSecretBox(encryptionKeys) };
  return {
    ...deps,
    /** The same records as seen by a process with other encryption keys. */
    under: (...keys: string[]) => ({ ...deps, secrets: createSecretBox(keys) }),
    add: (wanted: Partial<NewEndpoint> = {}) =>
      addEndpoint(
        deps,
        {
          operator: 'default',
          url: 'https://example.com/hook',
          sources: ['shop'],
          headers: { 'X-Api-Key': API_KEY },
          ...wanted,
        },
        'tester',
      ),
    /** One delivery to an endpoint, `data` being the event's bytes. */
    async deliver(endpoint: string, data = '{}'): Promise<string> {
      const eventKey = newId();
      await work.transitions.recordEvent({
        eventKey,
        source: 'shop',
        operator: 'default',
        plan: [{ d: endpoint }],
        from: 0,
        count: 1,
        replan: false,
        fields: {
          eventId: `evt ${eventKey}`,
          type: 'order.paid',
          entity: '',
          contentType: 'application/json',
          receivedAt: 1,
          encoding: 'utf8',
          body: data,
        },
      });
      return deliveryId(eventKey, endpoint);
    },
    /** Makes the next scheduled attempt as a dispatcher with these keys would. */
    async attempt(id: string, keys: readonly string[] = encryptionKeys): Promise<void> {
      const client = createHttpClient({ guard: createEgressGuard(CONFIG.egress) });
      afterwards(() => client.close());
      const { signal } = new AbortController();
      const perform = createEndpointSender({ ...work, client, secrets: createSecretBox(keys), signal });
      const ring = createAttempts({
        wakeGatesIn: () => undefined,
        ...work,
        perform,
        onAttempt: () => {},
        signal,
      });
      await ring(id, `${id}-${await work.redis.hget(work.keys.delivery(id), 'seq')}`, false);
    },
    audit: async (): Promise<Record<string, string>[]> =>
      (await work.redis.xrange(work.keys.audit, '-', '+')).map(([, fields]) =>
        Object.fromEntries(
          Array.from({ length: fields.length / 2 }, (_, index) => [
            fields[2 * index] ?? '',
            fields[2 * index + 1] ?? '',
          ]),
        ),
      ),
    /** Every byte of Redis that belongs to this test, as text. */
    async everything(): Promise<string> {
      const texts: string[] = [];
      for (const key of await work.redis.keys(`${work.keys.prefix}*`)) {
        const type = await work.redis.type(key);
        if (type === 'hash') texts.push(JSON.stringify(await work.redis.hgetall(key)));
        if (type === 'stream') texts.push(JSON.stringify(await work.redis.xrange(key, '-', '+')));
        if (type === 'string') texts.push((await work.redis.get(key)) ?? '');
      }
      return texts.join('\n');
    },
  };
}

export interface Seen {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A receiver that keeps the bytes it is sent, and answers with what `answer` says. */
export async function startReceiver(
  answer: (seen: Seen) => { status: number; body?: string } = () => ({ status: 200 }),
): Promise<{ readonly url: string; readonly seen: readonly Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(chunks) };
      seen.push(one);
      const { status, body = '' } = answer(one);
      response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
    });
  });
  const port = await listen(server, 0, '127.0.0.1');
  afterwards(() => closeServer(server, 1_000));
  return { url: `http://127.0.0.1:${port}/hook`, seen };
}

export { silent };
