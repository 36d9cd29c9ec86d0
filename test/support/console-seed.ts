import { addEndpoint, callApi, deliveryReaching } from './console-api.ts';
import type { Rig } from './rig.ts';
import { startSubscriber } from './subscriber.ts';
import { waitUntil } from './wait-until.ts';

/**
 * What pages need one of, by their path up to the parameter: `/events/:source/:eventId` takes `/events/:` and
 * `/events/:/:`. And others by what they are an example of.
 */
export type Examples = Readonly<Record<string, string>>;

/** An id that no line break can be put into, as long as some providers make them. */
const LONG = `evt_${'0123456789abcdef'.repeat(12)}`;

/** Things in every state that a page may have to show. Resolves to what pages with parameters are tried with. */
export async function seedConsole(rig: Rig): Promise<Examples> {
  const well = await startSubscriber(200);
  const ill = await startSubscriber({
    status: 503,
    contentType: 'text/html',
    body: `<h1>Down</h1>${'x'.repeat(2_000)}`,
  });
  await addEndpoint(rig, well.url, 'seed.well');
  const [bad, paused] = [
    await addEndpoint(rig, `${ill.url}/${'long/'.repeat(30)}`, 'seed.ill'),
    await addEndpoint(rig, well.url, 'seed.held'),
  ];
  await callApi(rig, 'POST', `/endpoints/${paused.id}/pause`, { reason: 'their maintenance' });
  const events = [
    { event_id: 'evt-well', type: 'seed.well' },
    { event_id: LONG, type: 'seed.ill' },
    { event_id: 'evt-held', type: 'seed.held' },
    { event_id: 'evt-erp', type: 'order.paid', order_id: 'order-1', warehouse: 'W1' }, // no consumer runs: pending
    { event_id: 'evt-unrouted', type: 'seed.nobody', note: '\u202Eback\u0000' },
  ];
  for (const event of events) await rig.send(event);
  const refused = await refusedRequest(rig);
  const dead = await deliveryReaching(rig, LONG, 'dead_letter');
  const [sent, held] = [
    await deliveryReaching(rig, 'evt-well', 'sent'),
    await deliveryReaching(rig, 'evt-held', 'held'),
  ];
  await callApi(rig, 'POST', `/deliveries/${sent}/replay`, {
    reason: 'they asked for it',
    acknowledgeDuplicates: true,
  });
  const { id: run } = await callApi<{ id: string }>(rig, 'POST', '/replays', {
    reason: `receiver mended, ${'they say '.repeat(20)}`,
    endpoint: bad.id,
  });
  await waitUntil(
    async () => (await callApi<{ state: string }>(rig, 'GET', `/replays/${run}`)).state !== 'running',
    { what: 'the replay to end', timeoutMs: 60_000, intervalMs: 200 },
  );
  await waitUntil(
    async () =>
      (await callApi<{ openReplay: unknown }>(rig, 'GET', `/deliveries/${sent}`)).openReplay === null,
    { what: 'the replay of what was sent to end', timeoutMs: 60_000, intervalMs: 200 },
  );
  const token = await callApi<{ id: string }>(rig, 'POST', '/tokens', {
    name: 'a dashboard',
    scope: 'read',
  });
  await Promise.all([well.close(), ill.close()]);
  return {
    '/deliveries/:': dead,
    '/endpoints/:': bad.id,
    '/events/:': 'demo-payments',
    '/events/:/:': LONG,
    '/dead-letters/:': `${bad.id}:http_5xx`,
    '/quarantine/:': refused,
    '/replays/:': run,
    '/sources/:': 'demo-payments',
    '/reconciliation/:': 'receipts',
    '/tokens/:': token.id,
    'sent delivery': sent,
    'held delivery': held,
    'paused endpoint': paused.id,
  };
}

/** Sends what its signature does not fit, as if another tool had written its JSON anew; resolves to its id in quarantine. */
async function refusedRequest(rig: Rig): Promise<string> {
  await fetch(`${rig.ingestUrl}/webhooks/demo-payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-signature': `sha256=${'0'.repeat(64)}` },
    body: JSON.stringify({ event_id: 'evt-refused', note: '<b>not today' }),
  });
  const { id } = await waitUntil(
    async () => (await callApi<{ entries: { id: string }[] }>(rig, 'GET', '/quarantine')).entries[0],
    { what: 'the refused request to be in quarantine', timeoutMs: 60_000, intervalMs: 200 },
  );
  return id;
}

/** The path with an example for each parameter. Throws where there is none. */
export const withExamples = (path: string, examples: Examples): string =>
  path.split('/').reduce((done, segment, index, all) => {
    if (!segment.startsWith(':')) return index === 0 ? segment : `${done}/${segment}`;
    const key = all
      .slice(0, index + 1)
      .map((each) => (each.startsWith(':') ? ':' : each))
      .join('/');
    const example = examples[key];
    if (example === undefined)
      throw new Error(`The page ${path} needs an example of ${key}: add it to test/support/console-seed.ts.`);
    return `${done}/${encodeURIComponent(example)}`;
  }, '');
