import { BreakwaterConfig } from '@breakwater/contracts/config';
import {
  deliveryId,
  erpDestination,
  eventKey,
  newEndpointId,
  newId,
  parseDeliveryId,
} from '@breakwater/contracts/ids';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { type Finding, noFindings, type ReconciliationSummary } from '@breakwater/contracts/reconciliation';
import { changeBulkReplay, startBulkReplay } from '@breakwater/core/bulk-replay';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { addEndpoint } from '@breakwater/core/endpoints';
import { takeSnapshot } from '@breakwater/core/fleet-snapshot';
import { figuresOf } from '@breakwater/core/history';
import { createTokenReader } from '@breakwater/core/token-reader';
import { createToken } from '@breakwater/core/tokens';
import { createErpTargets } from '@breakwater/erp/targets';
import { createQueueBoard } from '@breakwater/queue/board';
import { createGuardedClient } from '@breakwater/http/egress';
import { closeServer, listen } from '@breakwater/runtime/listen';
import { createLogger } from '@breakwater/runtime/logger';
import { noteHistory } from '@breakwater/store/history';
import { writeQuarantine } from '@breakwater/store/quarantine';
import { createSecretBox } from '@breakwater/store/secret-box';
import { freePort } from '../../../test/support/free-port.ts';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { type ConsoleOptions, createConsole } from '../src/console.ts';
import type { ApiDeps, TakenSnapshot } from '../src/call.ts';
import { createSessions } from '../src/ui/session.ts';
import { createApiServer } from '../src/api-server.ts';

export const ADMIN = 'the-admin-token';
export const OPERATORS = ['acme', 'globex'] as const;
export type Operator = (typeof OPERATORS)[number];

const source = (operator: string) => ({
  operator,
  secrets: [{ id: 'a', value: 'source-secret' }],
  auth: { kind: 'signature', algorithm: 'hmac-sha256', signature: { header: 'x', encoding: 'hex' } },
  eventId: { pointer: '/id' },
});

export const CONFIG = BreakwaterConfig.parse({
  adminToken: ADMIN,
  egress: { allowHttp: true, allow: ['127.0.0.0/8'] },
  encryptionKeys: Buffer.alloc(32, 1).toString('base64'),
  deliveries: { retrySchedule: ['0s'] },
  sources: Object.fromEntries(OPERATORS.map((operator) => [`${operator}-shop`, source(operator)])),
  erpTargets: {
    receipts: {
      owner: 'integration',
      document: '{ "id": event.data.id }',
      reference: 'source & ":" & eventId',
      adapter: { kind: 'http', baseUrl: 'http://127.0.0.1:8090', post: { path: '"/receipts"' } },
    },
  },
  routes: OPERATORS.map((operator) => ({ source: `${operator}-shop`, target: 'receipts' })),
});

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- its shape is the route's, which the tests assert
  readonly json: any;
  readonly text: string;
}

export interface CallOptions {
  readonly token?: string;
  readonly body?: unknown;
  /** Instead of `body`, as it is. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The admin API on a port of its own, on real records in a key space of its own. */
export async function startConsole(options: Partial<ConsoleOptions> & { readonly redisUrl?: string } = {}) {
  const stack = new AsyncDisposableStack();
  const logger = createLogger({ service: 'test', level: 'silent' });
  const { redisUrl = sharedRedisUrl(), ...more } = options;
  const keyPrefix = `t${newId()}`;
  const store = openDeliveries(
    { redisUrl, keyPrefix, breakwater: CONFIG },
    { logger, defer: (_label, close) => stack.defer(async () => void (await close())) },
  );
  const client = createGuardedClient(CONFIG.egress, CONFIG.samples);
  stack.defer(() => client.close());
  const secrets = createSecretBox(CONFIG.encryptionKeys);
  const targets = createErpTargets(CONFIG, client);
  const sources = Object.keys(CONFIG.sources);
  const takeFleet = async () => ({
    snapshot: await takeSnapshot({ ...store, targets, sources, config: CONFIG }, new Map()),
    takenAt: Date.now(),
  });
  let taken: TakenSnapshot | undefined;
  const durability = 'relaxed' as const;
  const accepting = { redisUrl, keyPrefix, durability, ingest: CONFIG.ingest, logger };
  const deps = { ...store, config: CONFIG, secrets, client, accepting, fleet: () => taken };
  const { redis, keys } = store;
  await redis.ping(); // before it is ready, callers are sent away
  const board = createQueueBoard(redis, keys, logger);
  stack.defer(() => board.close());
  let now = 0;
  const listener = createConsole({
    deps,
    board,
    // Its clock stands still: what it has once looked up it knows for good, and no look-up comes in between.
    tokenReader: createTokenReader({ redis, keys, logger, now: () => now }),
    sessions: createSessions(redis, keys),
    rate: { perSecond: 1_000, burst: 10_000 },
    signal: new AbortController().signal,
    ...more,
  });
  const server = createApiServer(listener);
  const port = await listen(server, 0, '127.0.0.1');
  const closedPort = await freePort();
  stack.defer(() => closeServer(server, 1_000));

  const call = async (
    method: string,
    path: string,
    { token = ADMIN, body, raw, headers = {} }: CallOptions = {},
  ): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...((body !== undefined || raw !== undefined) && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(raw !== undefined ? { body: raw } : body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === '' ? undefined : JSON.parse(text),
    };
  };
  return {
    ...deps,
    port,
    call,
    /** Reads the fleet's figures, as the console does every 2 s, and writes them into the history. */
    async snapshot(): Promise<void> {
      taken = await takeFleet();
      await noteHistory(redis, keys, figuresOf(taken.snapshot));
    },
    /** Makes what is known of tokens grow old. */
    pass: (ms: number) => (now += ms),
    token: async (scope: string, expiresInMs: number | null = null) =>
      createToken(store, { name: `of ${scope}`, scope, expiresInMs }, 'tester'),
    things: (operator: Operator): Promise<Things> => makeThings(deps, operator, closedPort),
    /** An event that an application has published, as fan-out records it. */
    publish: (operator: Operator, isWanted: boolean) =>
      store.transitions.recordEvent({
        eventKey: newId(),
        source: RESERVED_SOURCE,
        operator,
        plan: isWanted ? [{ d: newEndpointId() }] : [],
        fields: { eventId: 'published', type: 't', body: '{}', encoding: 'utf8' },
        from: 0,
        count: 100,
        replan: false,
      }),
    close: () => stack.disposeAsync(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
export type Console = Awaited<ReturnType<typeof startConsole>>;

export interface Things {
  readonly operator: Operator;
  readonly endpoint: string;
  readonly source: string;
  readonly eventId: string;
  readonly delivery: string;
  readonly run: string;
  /** A refused request. */
  readonly quarantined: string;
}

/** One of each kind of thing that an operator can have. */
async function makeThings(
  deps: Omit<ApiDeps, 'client' | 'accepting'>,
  operator: Operator,
  closedPort: number,
): Promise<Things> {
  const { transitions, redis, keys } = deps;
  const { endpoint } = await addEndpoint(
    deps,
    {
      operator,
      url: `http://127.0.0.1:${closedPort}/${operator}`,
      sources: [`${operator}-shop`],
      headers: { 'x-key': `${operator}-header-value` },
      // Nobody listens there, which is found out at once.
      timeoutMs: 1_000,
    },
    'tester',
  );
  const eventId = `evt-${operator}-${newId()}`;
  const key = eventKey(operator, `${operator}-shop`, eventId);
  const plan = [{ d: endpoint.id }, { d: erpDestination('receipts') }];
  await transitions.recordEvent({
    eventKey: key,
    source: `${operator}-shop`,
    operator,
    plan,
    fields: {
      eventId,
      type: 'order.paid',
      entity: '',
      contentType: 'application/json',
      receivedAt: Date.now(),
      encoding: 'utf8',
      body: `{"of":"${operator}"}`,
    },
    from: 0,
    count: 100,
    replan: false,
  });
  const delivery = deliveryId(key, endpoint.id);
  await giveUp(transitions, delivery);
  const run = await startBulkReplay(
    { redis, keys },
    {
      selection: { operator, status: 'dead_letter', eventId },
      filter: `of ${operator}`,
      mode: 'single',
      acknowledged: false,
      reason: `because of ${operator}`,
      actor: 'tester',
      stopAfter: 0,
      perSecond: 1,
      destinationPerSecond: undefined,
    },
  );
  if (!run) throw new Error('the run found nothing');
  // An operator may have few that run at the same time.
  const by = { operator, actor: 'tester', reason: 'it is only to be looked at' };
  await changeBulkReplay({ redis, keys }, { ...by, id: run.id, action: 'cancel' });
  await findMissing(deps, operator, eventId);
  const quarantined = await refuse(deps, operator, `{"of":"${operator}"}`);
  const things = { operator, endpoint: endpoint.id, source: `${operator}-shop`, eventId, delivery };
  return { ...things, run: run.id, quarantined };
}

/** Makes the one attempt of this configuration's schedule, and lets it fail: a dead letter. */
export async function giveUp(transitions: ApiDeps['transitions'], delivery: string): Promise<void> {
  const begun = await transitions.beginAttempt(delivery, `${delivery}-1`, newId());
  if (begun.kind !== 'go') throw new Error(`it did not begin: ${begun.kind}`);
  await transitions.endAttempt({
    delivery,
    alarmId: `${delivery}-1`,
    attempt: begun.go.attempt,
    outcome: 'failed',
    class: 'http_5xx',
    code: '503',
    handOffToken: '',
  });
}

/** An operator's posting that was given up. Resolves to its id. */
export async function givenUpPosting(
  console: Pick<Console, 'things' | 'transitions'>,
  operator: Operator,
): Promise<string> {
  const { delivery } = await console.things(operator);
  const posting = deliveryId(parseDeliveryId(delivery)?.event ?? '', erpDestination('receipts'));
  await giveUp(console.transitions, posting);
  return posting;
}

/** As if ingest had refused this for its signature. Resolves to the entry's id. `signature`: of the header that is kept. */
export async function refuse(
  { redis, keys }: Pick<ApiDeps, 'redis' | 'keys'>,
  operator: Operator,
  body: string,
  signature = 'wrong',
): Promise<string> {
  const id = newId();
  const entry = {
    id,
    operator,
    source: `${operator}-shop`,
    receivedAt: Date.now(),
    code: 'signature_invalid',
    message: 'no signature matches',
    method: 'POST',
    query: '',
    headers: { x: [signature] },
    body: Buffer.from(body),
  };
  await writeQuarantine(redis, keys, entry, false);
  return id;
}

/** As if the latest scheduled reconciliation had missed the posting of an event too. */
async function findMissing(
  { redis, keys }: Pick<ApiDeps, 'redis' | 'keys'>,
  operator: Operator,
  eventId: string,
): Promise<void> {
  const key = keys.reconciliation('receipts');
  const finding: Finding = {
    kind: 'missing',
    why: 'past_due',
    target: 'receipts',
    operator,
    source: `${operator}-shop`,
    eventId,
    receipts: [],
    at: Date.now(),
    detail: 'it is due and no attempt has begun',
    next: 'look at the erp-consumer',
    by: 'records',
  };
  const findings = [...(JSON.parse((await redis.hget(key, 'findings')) ?? '[]') as Finding[]), finding];
  const summary: ReconciliationSummary = {
    target: 'receipts',
    startedAt: Date.now(),
    tookMs: 1,
    since: 0,
    until: Date.now(),
    events: findings.length,
    deliveries: findings.length,
    open: findings.length,
    counts: { ...noFindings(), missing: findings.length },
    kept: findings.length,
    deepAt: null,
    deep: { kind: 'off' },
  };
  await redis.hset(key, { findings: JSON.stringify(findings), summary: JSON.stringify(summary) });
}
