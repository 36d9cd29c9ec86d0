import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { adminOpenApi } from '@breakwater/contracts/admin-openapi';
import { type RouteSpec } from '@breakwater/contracts/admin-route';
import { ADMIN_ROUTES, type RouteName } from '@breakwater/contracts/admin-routes';
import { newEndpointId, newId } from '@breakwater/contracts/ids';
import type { OwnRedis } from '../../../test/support/redis.ts';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { type Answer, type Console, startConsole, type Things } from './api-rig.ts';

/**
 * How a route is called for the things of one operator. `thing`: it names one of them. `list`: it shows what there is, so
 * an own thing must be in it. `create`: it makes something new. `admin`: it is no operator's.
 */
type Case = { readonly kind: 'thing' | 'list' | 'create' | 'admin' } & {
  readonly path: (things: Things) => string;
  readonly body?: unknown;
  /** Of a list: what of the things it shows. */
  readonly shows?: (things: Things) => string;
};

const REASON = { reason: 'the test asks' };
const endpoint = (tail = ''): Pick<Case, 'kind' | 'path'> => ({
  kind: 'thing',
  path: (things) => `/endpoints/${things.endpoint}${tail}`,
});
const delivery = (tail = ''): Pick<Case, 'kind' | 'path'> => ({
  kind: 'thing',
  path: (things) => `/deliveries/${things.delivery}${tail}`,
});
const run = (tail = ''): Pick<Case, 'kind' | 'path'> => ({
  kind: 'thing',
  path: (things) => `/replays/${things.run}${tail}`,
});

const quarantined = (tail = ''): Pick<Case, 'kind' | 'path'> => ({
  kind: 'thing',
  path: (things) => `/quarantine/${things.quarantined}${tail}`,
});

/** Every route. One that is missing here fails the first test. */
const CASES: Readonly<Record<string, Case>> = {
  listEndpoints: { kind: 'list', path: () => '/endpoints', shows: (things) => things.endpoint },
  createEndpoint: {
    kind: 'create',
    path: () => '/endpoints',
    body: { url: 'https://example.com/hook', description: 'made by the test of isolation' },
  },
  getEndpoint: endpoint(),
  updateEndpoint: { ...endpoint(), body: { description: 'changed' } },
  removeEndpoint: endpoint(),
  pauseEndpoint: { ...endpoint('/pause'), body: REASON },
  resumeEndpoint: { ...endpoint('/resume'), body: REASON },
  rotateSecret: { ...endpoint('/rotate-secret'), body: {} },
  finishRotation: endpoint('/finish-rotation'),
  testEndpoint: endpoint('/test'),
  listDeliveries: { kind: 'list', path: () => '/deliveries?limit=200', shows: (things) => things.delivery },
  getDelivery: delivery(),
  replayDelivery: { ...delivery('/replay'), body: REASON },
  resolveDelivery: { ...delivery('/resolve'), body: { ...REASON, posted: true } },
  listDeadLetterGroups: {
    kind: 'list',
    path: () => '/dead-letters/groups?limit=200',
    shows: (things) => things.endpoint,
  },
  listReplays: { kind: 'list', path: () => '/replays', shows: (things) => things.run },
  createReplay: { kind: 'create', path: () => '/replays', body: { ...REASON, all: true } },
  getReplay: run(),
  cancelReplay: { ...run('/cancel'), body: REASON },
  resumeReplay: { ...run('/resume'), body: REASON },
  getEvent: { kind: 'thing', path: (things) => `/events/${things.source}/${things.eventId}?body=true` },
  getStats: { kind: 'list', path: () => '/stats', shows: (things) => things.source },
  getReconciliation: { kind: 'list', path: () => '/reconciliation', shows: (things) => things.eventId },
  listSources: { kind: 'list', path: () => '/sources', shows: (things) => things.source },
  getSource: { kind: 'thing', path: (things) => `/sources/${things.source}` },
  listQuarantine: {
    kind: 'list',
    path: () => '/quarantine?limit=200',
    shows: (things) => things.quarantined,
  },
  getQuarantined: quarantined('?body=true'),
  retryQuarantined: { ...quarantined('/retry'), body: REASON },
  listBreakers: { kind: 'list', path: () => '/breakers', shows: () => 'receipts' },
  openBreaker: { kind: 'admin', path: () => '/breakers/receipts/open', body: REASON },
  closeBreaker: { kind: 'admin', path: () => '/breakers/receipts/close', body: REASON },
  listAudit: { kind: 'list', path: () => '/audit?limit=200', shows: (things) => things.endpoint },
  listTokens: { kind: 'admin', path: () => '/tokens' },
  createToken: { kind: 'admin', path: () => '/tokens', body: { name: 'x', scope: 'admin' } },
  revokeToken: { kind: 'admin', path: () => `/tokens/${tokens.acme.id}` },
};

const NAMES = Object.keys(CASES) as RouteName[];
const ofKind = (kind: Case['kind']): RouteName[] => NAMES.filter((name) => CASES[name]?.kind === kind);

let own: OwnRedis;
let api: Console;
const tokens: Record<'acme' | 'globex', { id: string; value: string }> = {
  acme: { id: '', value: '' },
  globex: { id: '', value: '' },
};
beforeAll(async () => {
  own = await startOwnRedis({ overrides: { appendfsync: 'everysec' } }); // the number of its commands is looked at
  api = await startConsole({ redisUrl: own.url });
  for (const operator of ['acme', 'globex'] as const) {
    const { token, value } = await api.token(`operator:${operator}`);
    tokens[operator] = { id: token.id, value };
    await api.call('GET', '/api/v1/stats', { token: value }); // from here on the token is known without a look-up
  }
});
afterAll(async () => {
  await api?.close();
  await own?.close();
});

const ask = (name: RouteName, things: Things, token: string, query = ''): Promise<Answer> => {
  const { path, body } = CASES[name] ?? {};
  const route: RouteSpec = ADMIN_ROUTES[name];
  const full = `/api/v1${path?.(things) ?? ''}`;
  const joined = query === '' ? full : `${full}${full.includes('?') ? '&' : '?'}${query}`;
  return api.call(route.method.toUpperCase(), joined, { token, body });
};

/** Things that nobody has, of the same form. */
const nobodys = (): Things => {
  const id = newEndpointId();
  return {
    operator: 'acme',
    endpoint: id,
    delivery: `${newId()}.${id}`,
    run: newId(),
    source: 'nobodys-shop',
    eventId: `evt-acme-${newId()}`,
    quarantined: newId(),
  };
};

/** Everything that is stored, but what is known about the use of tokens. */
async function everything(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  let cursor = '0';
  do {
    const [next, keys] = await api.redis.scan(cursor, 'MATCH', `${api.keys.prefix}*`, 'COUNT', 1_000);
    cursor = next;
    for (const key of keys)
      if (!key.startsWith(`${api.keys.prefix}token`))
        found[key] = ((await api.redis.dumpBuffer(key)) ?? Buffer.from('')).toString('base64');
  } while (cursor !== '0');
  return found;
}

/** How often each command ran since the server was started. */
async function commands(): Promise<Map<string, number>> {
  const info = await api.redis.info('commandstats');
  return new Map(
    [...info.matchAll(/^cmdstat_(\w[^:]*):calls=(\d+)/gm)].map(([, name, calls]) => [
      name ?? '',
      Number(calls),
    ]),
  );
}

async function commandsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await commands();
  await work();
  const after = await commands();
  return Object.fromEntries(
    [...after]
      .map(([name, calls]) => [name, calls - (before.get(name) ?? 0)] as const)
      .filter(([name, calls]) => calls > 0 && name !== 'info'),
  );
}

/** What a refusal says, without what differs in every answer and without the ids that were asked for. */
const said = ({ status, json }: Answer, things: Things): unknown => {
  const { requestId: _requestId, ...error } = json.error;
  let text = JSON.stringify({ status, error });
  const { operator: _operator, ...ids } = things;
  for (const value of Object.values(ids).toSorted((one, other) => other.length - one.length))
    text = text.replaceAll(value, '<id>');
  return text;
};

test('every route of the OpenAPI document has a case of isolation here', () => {
  const { paths } = adminOpenApi() as { paths: Record<string, Record<string, { operationId: string }>> };
  const documented = Object.values(paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(documented.toSorted()).toEqual(Object.keys(CASES).toSorted());
});

test.each(ofKind('thing'))(
  "%s: another's thing is neither shown nor changed, and looks like one that does not exist",
  async (name) => {
    const theirs = await api.things('acme');
    const before = await everything();
    let foreign: Answer | undefined;
    let missing: Answer | undefined;
    const nothing = nobodys();
    await ask(name, nothing, tokens.globex.value); // scripts are loaded
    const spentOnForeign = await commandsOf(async () => {
      foreign = await ask(name, theirs, tokens.globex.value);
    });
    const spentOnMissing = await commandsOf(async () => {
      missing = await ask(name, nothing, tokens.globex.value);
    });
    if (!foreign || !missing) throw new Error('there was no answer');
    expect(foreign.status).toBe(404);
    expect(said(foreign, theirs)).toEqual(said(missing, nothing));
    // The same work in Redis: there is nothing by which the time could tell them apart.
    expect(spentOnForeign).toEqual(spentOnMissing);
    expect(await everything()).toEqual(before);
    // The case itself is right: whose it is gets something else than "not found", in the shape that is documented.
    const mine = await ask(name, theirs, tokens.acme.value);
    expect(mine.status).not.toBe(404);
    expect(mine.status < 300 ? undocumented(name, mine) : '').toBe('');
  },
);

test.each(ofKind('list'))("%s: nothing of another's is in it", async (name) => {
  const [theirs, mine] = [await api.things('acme'), await api.things('globex')];
  const shows = CASES[name]?.shows;
  const [foreign, asOwner] = [
    await ask(name, theirs, tokens.globex.value),
    await ask(name, theirs, tokens.acme.value),
  ];
  expect([foreign.status, asOwner.status]).toEqual([200, 200]);
  expect(asOwner.text).toContain(shows?.(theirs));
  expect(foreign.text).toContain(shows?.(mine));
  expect(foreign.text).not.toContain('acme');
  for (const id of [theirs.endpoint, theirs.delivery, theirs.run, theirs.eventId, theirs.quarantined])
    expect(foreign.text).not.toContain(id);
  expect(undocumented(name, asOwner)).toBe('');
});

test.each(ofKind('create'))('%s: what is made is of the token, whoever is named', async (name) => {
  const theirs = await api.things('acme');
  const before = (await api.call('GET', '/api/v1/audit?operator=acme&limit=200')).json.entries;
  const made = await ask(name, theirs, tokens.globex.value);
  expect(undocumented(name, made)).toBe('');
  expect(made.json.operator).toBe('globex');
  expect((await api.call('GET', '/api/v1/audit?operator=acme&limit=200')).json.entries).toEqual(before);
});

test.each(NAMES)(
  '%s: to act for another operator is refused in the same words, whoever that is',
  async (name) => {
    const theirs = await api.things('acme');
    const before = await everything();
    const answers = [
      await ask(name, theirs, tokens.globex.value, 'operator=acme'),
      await ask(name, theirs, tokens.globex.value, 'operator=nobody-at-all'),
    ];
    for (const answer of answers)
      expect([answer.status, answer.json.error.code]).toEqual([403, 'token_scope']);
    expect(said(answers[0]!, theirs)).toEqual(said(answers[1]!, theirs));
    expect(await everything()).toEqual(before);
  },
);

test.each(ofKind('admin'))(
  '%s: an operator is refused, whether or not what is asked for exists',
  async (name) => {
    const things = nobodys();
    const answer = await ask(name, things, tokens.globex.value);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'token_scope']);
    const missing = await api.call('DELETE', '/api/v1/tokens/tok_none', { token: tokens.globex.value });
    expect(said(answer, things)).toEqual(said(missing, things));
  },
);

test.each(NAMES)(
  '%s: a token that only reads changes nothing, and one that publishes sees nothing',
  async (name) => {
    const things = await api.things('acme');
    const before = await everything();
    const reads = await ask(name, things, (await api.token('read:acme')).value);
    const publishes = await ask(name, things, (await api.token('publish:acme')).value);
    const nobody = await ask(name, things, 'bwt_invented');
    const { access } = ADMIN_ROUTES[name];
    const allowed = access === 'read' ? 200 : 403;
    expect([reads.status, publishes.status, nobody.status]).toEqual([allowed, 403, 401]);
    const after = await everything();
    delete before[api.keys.audit]; // the tokens made here
    delete after[api.keys.audit];
    expect(after).toEqual(before);
  },
);

/** What of an answer is not as the document says, its status and members that it does not name included; '' for nothing. */
function undocumented(name: RouteName, answer: Answer): string {
  const route: RouteSpec = ADMIN_ROUTES[name];
  if (answer.status !== route.status) return `status ${answer.status}`;
  const parsed = route.answer.safeParse(answer.json);
  if (!parsed.success) return String(parsed.error);
  return isDeepStrictEqual(parsed.data, answer.json) ? '' : `more than documented: ${answer.text}`;
}
