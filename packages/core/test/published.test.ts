import { expect, test } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { eventKey, newId } from '@breakwater/contracts/ids';
import { decodeEventJob } from '@breakwater/contracts/jobs';
import type { EndpointRecord } from '@breakwater/store/endpoints';
import { readEvent } from '@breakwater/store/events';
import { draftEndpoint } from '../src/endpoints.ts';
import { envelope } from '../src/envelope.ts';
import { contentOf, contentOfJob } from '../src/event-content.ts';
import { createFanOut } from '../src/fan-out.ts';
import { planEvent } from '../src/plan.ts';
import { toEventJob } from '../src/unrouted.ts';
import { createSecretBox } from '@breakwater/store/secret-box';
import { connect, event, queued, readyAcceptor, silent } from './support/acceptor.ts';
import { openWork } from './support/deliveries.ts';

const OCCURRED = Date.UTC(2026, 0, 31, 11, 0, 0, 500);

test('when an event occurred travels from the accept step to the envelope, and through a second fan-out', async () => {
  const work = openWork();
  const prefix = `t${newId()}`;
  const acceptor = await readyAcceptor({ prefix });
  await acceptor.accept(event('e1', { source: 'api', occurredAt: OCCURRED, bytes: Buffer.from('1.10') }));
  const [queuedJob] = await queued(connect(), prefix);
  const { bytes: _bytes, ...data } = queuedJob!;
  const job = decodeEventJob(data);
  expect(job).toMatchObject({ v: 2, occurredAt: OCCURRED });

  const fanOut = createFanOut({
    ...work,
    config: BreakwaterConfig.parse({}),
    targets: new Map(),
    logger: silent,
  });
  expect(await fanOut(job)).toBe(0); // nobody wants it yet
  const record = (await readEvent(work.redis, work.keys, eventKey('default', 'api', 'e1')))!;
  expect(toEventJob(record)).toEqual(job);
  const body = '{"id":"e1","type":"order.paid","timestamp":"2026-01-31T11:00:00.500Z","data":1.10}';
  expect(envelope(contentOf(record)).toString()).toBe(body);
  expect(envelope(contentOfJob(job)).toString()).toBe(body);
});

test('an event that does not say when it occurred is a job of version 1, and its timestamp is when it came', async () => {
  const prefix = `t${newId()}`;
  await (await readyAcceptor({ prefix })).accept(event('e1', { receivedAt: OCCURRED }));
  const [job] = await queued(connect(), prefix);
  expect(job).toMatchObject({ v: 1 });
  expect(envelope(contentOfJob(job!)).toString()).toContain('"timestamp":"2026-01-31T11:00:00.500Z"');
});

const config = BreakwaterConfig.parse({
  egress: { allowHttp: true, allow: ['127.0.0.0/8'] },
  sources: {
    shop: {
      secrets: [{ id: 'a', value: 'b' }],
      auth: { kind: 'signature', algorithm: 'hmac-sha256', signature: { header: 'x', encoding: 'hex' } },
      eventId: { pointer: '/id' },
    },
  },
});
function endpointFor(sources: string[], reference?: 'event' | 'source'): EndpointRecord {
  const wanted = { operator: 'default', url: 'http://127.0.0.1/', types: [], sources, description: '' };
  const secrets = createSecretBox([Buffer.alloc(32).toString('base64')]);
  return draftEndpoint(config, secrets, { ...wanted, body: 'envelope', ...(reference && { reference }) })
    .endpoint;
}

const reference = async (endpoint: EndpointRecord, source: string): Promise<string | undefined> => {
  const { operator, eventId, type, entity, contentType, receivedAt, bytes } = event('7');
  const facts = { operator, source, eventId, type, entity, contentType, receivedAt, body: bytes };
  const [entry] = await planEvent(contentOf(facts), config, new Map(), [endpoint]);
  return entry === undefined ? undefined : (entry.r ?? eventIdItself);
};
const eventIdItself = '(the event id)';

test('a published event cannot meet the id of a provider at an endpoint that takes every source', async () => {
  const all = endpointFor([]); // is added without a word about references, though the configuration has a source
  expect(await reference(all, 'shop')).toBe(eventIdItself);
  expect(await reference(all, 'api')).toBe('api:7');
  const named = endpointFor([], 'source');
  expect([await reference(named, 'shop'), await reference(named, 'api')]).toEqual(['shop:7', 'api:7']);
});

test('an endpoint for published events alone gets their ids as they are; one for both must say how to tell them apart', async () => {
  expect(await reference(endpointFor(['api']), 'api')).toBe(eventIdItself);
  expect(await reference(endpointFor(['shop']), 'api')).toBeUndefined();
  expect(() => endpointFor(['shop', 'api'])).toThrow('--reference source');
  const both = endpointFor(['shop', 'api'], 'source');
  expect([await reference(both, 'shop'), await reference(both, 'api')]).toEqual(['shop:7', 'api:7']);
});
