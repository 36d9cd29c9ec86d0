import { createHmac } from 'node:crypto';
import { newId } from '@breakwater/contracts/ids';
import { Source } from '@breakwater/contracts/source-config';
import { headerLines } from '@breakwater/signatures/headers';
import { createKeyspace } from '@breakwater/store/keys';
import { listQuarantine, readQuarantine } from '@breakwater/store/quarantine';
import { sharedRedisUrl } from '../../../../test/support/redis.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import { openQuarantine } from '../../src/quarantine.ts';
import { afterwards, connect, silent } from './acceptor.ts';

export const sourceWith = (secret: string, more: Record<string, unknown> = {}): Source =>
  Source.parse({
    secrets: [{ id: 'current', value: secret }],
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: { header: 'x-signature', encoding: 'hex' },
    },
    eventId: { pointer: '/id' },
    ...more,
  });
export const sign = (body: string, secret = 'right'): string =>
  createHmac('sha256', secret).update(body).digest('hex');
export const requestOf = (body: string, ...more: string[]) => ({
  headers: headerLines(['x-signature', sign(body), ...more]),
  body: Buffer.from(body),
  method: 'POST',
  query: '',
  nowMs: Date.now(),
});

/** A quarantine of its own, and a connection to look at what it holds. */
export async function open(notReady: () => readonly string[] = () => []) {
  const prefix = `t${newId()}`;
  const redis = connect();
  const keys = createKeyspace(prefix);
  const quarantine = openQuarantine({
    redisUrl: sharedRedisUrl(),
    keyPrefix: prefix,
    logger: silent,
    notReady,
  });
  afterwards(() => quarantine.close());
  const refuse = (body: string, source = sourceWith('wrong'), ...headers: string[]): void =>
    quarantine.keep({
      name: 'shop',
      source,
      request: requestOf(body, ...headers),
      code: 'signature_invalid',
      message: 'It does not match.',
    });
  const list = async () => {
    const facts = await listQuarantine(redis, keys, 'shop');
    const entries = await Promise.all(facts.map(({ id }) => readQuarantine(redis, keys, id)));
    return entries.filter((entry) => entry !== undefined);
  };
  /** Asked until it is kept: the connection may not be up yet. */
  const kept = async (body: string, source?: Source, ...headers: string[]) => {
    await waitUntil(
      async () => {
        const [found] = (await list()).filter((entry) => entry.body.toString() === body);
        if (found === undefined) refuse(body, source, ...headers);
        return found !== undefined;
      },
      { what: 'the refusal to be kept' },
    );
    return list();
  };
  return { prefix, redis, keys, quarantine, refuse, list, kept };
}
