import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { DestinationKind } from '@breakwater/contracts/ids';
import { deliveryId, erpDestination, eventKey, newId } from '@breakwater/contracts/ids';
import { encodeBody } from '@breakwater/contracts/jobs';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { startReplayRunner } from '@breakwater/core/replay-runner';
import { parseConfig } from '@breakwater/runtime/config';
import { createLogger } from '@breakwater/runtime/logger';
import { eventFields } from '@breakwater/store/events';
import type { EndInput } from '@breakwater/store/transitions';
import type { Io } from '../src/io.ts';
import { runCli } from '../src/run.ts';
import { sharedRedisUrl } from '../../../test/support/redis.ts';

export const CONFIG = `
sources:
  shop:
    secrets: [{ id: current, value: shop-secret }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, encoding: hex } }
    eventId: { pointer: /id }
erpTargets:
  receipts:
    owner: integration
    document: '{ "id": event.data.id }'
    adapter:
      kind: http
      baseUrl: http://127.0.0.1:9
      post: { path: '"/receipts"' }
routes: []
deliveries: { retrySchedule: [0s] }
encryptionKeys: YnJlYWt3YXRlci1kZW1vLWtleS1ub3QtYS1zZWNyZXQ=
egress: { allowHttp: true, allow: [127.0.0.0/8] }
`;

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as the one JSON document that --json promises. Its shape is the command's, which the tests assert. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: () => any;
}

export interface RunOptions {
  readonly redisUrl?: string;
  readonly stdin?: string | Readable;
  /** As if a person sat at a terminal: what `stdin` holds is typed. */
  readonly attended?: boolean;
  /** Ctrl-C. */
  readonly signal?: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
}

/** A deployment of its own in the shared Redis: a key prefix, a configuration file, the CLI and the store to seed it with. */
export async function createRig(config = CONFIG, redisUrl = sharedRedisUrl()) {
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-cli-'));
  const path = join(dir, 'breakwater.config.yaml');
  writeFileSync(path, config);
  const keyPrefix = `cli-${newId()}`;
  const env = { REDIS_URL: redisUrl, KEY_PREFIX: keyPrefix, BREAKWATER_CONFIG: path };
  const closing = new AbortController();
  const stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
  const store = openDeliveries(
    { redisUrl, keyPrefix, breakwater: parseConfig(config, {}) },
    {
      logger: createLogger({ service: 'test', level: 'silent' }),
      defer: (_label, close) => stack.defer(async () => void (await close())),
    },
  );
  stack.defer(() => closing.abort()); // a command that a failed test left waiting ends, too
  const { redis, transitions, keys } = store;

  const recordEvent = async (
    eventId: string,
    plan: readonly string[],
    more: { operator?: string; body?: string; type?: string } = {},
  ) => {
    const { operator = 'default', body = '{}', type = 'order.paid' } = more;
    const job = {
      v: 1 as const,
      operator,
      source: 'shop',
      eventId,
      type,
      entity: '',
      contentType: 'application/json',
      receivedAt: Date.now(),
      ...encodeBody(Buffer.from(body), true),
    };
    const key = eventKey(operator, 'shop', eventId);
    await transitions.recordEvent({
      eventKey: key,
      source: 'shop',
      operator,
      plan: plan.map((d) => ({ d })),
      fields: eventFields(job),
      from: 0,
      count: 100,
      replan: false,
    });
    return plan.map((d) => deliveryId(key, d));
  };
  const attempt = async (delivery: string, end: Pick<EndInput, 'outcome' | 'class' | 'code'>) => {
    const [seq = '', replayId] = await redis.hmget(keys.delivery(delivery), 'seq', 'replayId');
    const alarmId = replayId ? `${delivery}-r${replayId}` : `${delivery}-${seq}`;
    const begun = await transitions.beginAttempt(delivery, alarmId, newId());
    if (begun.kind !== 'go') throw new Error(`the attempt did not begin: ${begun.kind}`);
    await transitions.endAttempt({ ...end, delivery, alarmId, attempt: begun.go.attempt, handOffToken: '' });
  };
  return {
    ...store,
    env,
    /** Runs a command line in this process. */
    cli: (args: readonly string[], options: RunOptions = {}) =>
      run(
        args,
        { ...env, ...options.env, ...(options.redisUrl !== undefined && { REDIS_URL: options.redisUrl }) },
        AbortSignal.any([closing.signal, ...(options.signal ? [options.signal] : [])]),
        options.stdin,
        options.attended,
      ),
    /** Records an event with deliveries to these destinations. Resolves to their ids. */
    recordEvent,
    /** Carries out bulk replays, as a dispatcher does. */
    runReplays: () => stack.defer(startReplayRunner(store)),
    /** Makes one attempt, the replay's where one was asked for. */
    attempt,
    /** A delivery that failed once, which this configuration's schedule makes a dead letter. */
    async deadLetter(eventId: string, to: string = destination('endpoint'), operator = 'default') {
      const [id = ''] = await recordEvent(eventId, [to], { operator });
      await attempt(id, FAILED);
      return id;
    },
    audit: async () =>
      (await redis.xrange(keys.audit, '-', '+')).map(([, fields]) =>
        Object.fromEntries(
          Array.from({ length: fields.length / 2 }, (_, index) => [fields[2 * index], fields[2 * index + 1]]),
        ),
      ),
    close: () => stack.disposeAsync(),
    /** `await using`: closed also when the test fails, or its connections would keep the run from ending. */
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
export type Rig = Awaited<ReturnType<typeof createRig>>;

export const FAILED = { outcome: 'failed', class: 'http_5xx', code: '503' } as const;
export const SENT = { outcome: 'sent', class: 'sent', code: '200' } as const;

export const destination = (kind: DestinationKind): string =>
  kind === 'erp' ? erpDestination('receipts') : 'ep_AAAAAAAAAAAAAAAAAAAAAA';

async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  stdin: string | Readable = '',
  attended = false,
): Promise<CliRun> {
  let stdout = '';
  let stderr = '';
  const io: Io = {
    stdin: typeof stdin === 'string' ? Readable.from([Buffer.from(stdin)]) : stdin,
    stdout: { write: (text) => (stdout += text) },
    stderr: new Writable({
      write(chunk, _encoding, done) {
        stderr += String(chunk);
        done();
      },
    }),
    stderrIsTty: attended,
    stdinIsTty: attended,
    env,
    user: 'tess',
    signal,
    now: () => Date.now(),
  };
  const code = await runCli(args, io);
  return { code, stdout, stderr, json: () => JSON.parse(stdout) };
}
