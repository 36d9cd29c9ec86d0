import type { AttemptResult } from '@breakwater/contracts/attempt-result';
import { headerSafe, parseDeliveryId } from '@breakwater/contracts/ids';
import { remedyFor } from '@breakwater/contracts/failure-class';
import { failureClassOfStatus } from '@breakwater/http/classify';
import type { HttpClient, HttpRequest } from '@breakwater/http/client';
import type { HttpOutcome } from '@breakwater/http/outcome';
import { parseRetryAfterMs } from '@breakwater/http/retry-after';
import { SAMPLE_READ_BYTES, sampleOf } from '@breakwater/http/sample';
import { AppError } from '@breakwater/runtime/errors';
import { signStandard } from '@breakwater/signatures/standard-webhooks';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, readEndpoint } from '@breakwater/store/endpoints';
import type { Keyspace } from '@breakwater/store/keys';
import type { SecretBox } from '@breakwater/store/secret-box';
import type { Go } from '@breakwater/store/go';
import type { AttemptClock } from './attempt-clock.ts';
import type { Performer } from './attempts.ts';
import { openEndpoint, type OpenedEndpoint, toRedact } from './endpoint-secrets.ts';
import { envelope } from './envelope.ts';
import { contentOf, type EventContent } from './event-content.ts';

export interface EndpointSenderDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  /** Guarded: endpoints are what tenants typed in. */
  readonly client: HttpClient;
  readonly secrets: SecretBox;
  readonly signal: AbortSignal;
}

/** Makes one HTTP attempt: Standard Webhooks headers, the endpoint's time-out, a sample of the answer. */
export function createEndpointSender(deps: EndpointSenderDeps): Performer {
  return async (go, event, clock) => {
    const endpoint = await readEndpoint(
      deps.redis,
      deps.keys,
      parseDeliveryId(go.delivery)?.destination ?? '',
    );
    if (!endpoint)
      return {
        kind: 'failed',
        class: 'configuration',
        code: '',
        message: 'The endpoint does not exist any more.',
      };
    // Since this attempt began, the late result of an interrupted one may have come in: nothing is sent after a success.
    const status = await deps.redis.hget(deps.keys.delivery(go.delivery), 'status');
    if (status === 'sent' && go.trigger === 'schedule')
      return { kind: 'deferred', message: 'an earlier attempt turned out to be delivered' };
    const opened = await tryOpen(deps, endpoint);
    if ('message' in opened) return { kind: 'deferred', message: opened.message, waitMs: UNREADABLE_WAIT_MS };
    const outcome = await postToEndpoint(deps.client, endpoint, opened, messageOf(go, contentOf(event)), {
      mayWrite: () => leaseCovers(clock, endpoint.timeoutMs, go.leaseMs),
    });
    return resultOf(outcome, toRedact(opened));
  };
}

/** Secrets that cannot be opened are nothing a retry mends: one look a minute, until a person has put the key back. */
const UNREADABLE_WAIT_MS = 60_000;

/**
 * A key that is missing here is our trouble and not the receiver's: without a signature nothing is sent, and the schedule,
 * which is meant for the receiver's troubles, is not used up. Other errors are thrown.
 */
async function tryOpen(
  { redis, secrets }: EndpointSenderDeps,
  endpoint: EndpointRecord,
): Promise<OpenedEndpoint | AppError> {
  try {
    return await openEndpoint(redis, secrets, endpoint);
  } catch (error) {
    const known = error instanceof AppError && error.code !== 'internal';
    if (known) return error;
    throw error;
  }
}

export interface OutboundMessage {
  /** `webhook-id`: visible ASCII. */
  readonly id: string;
  readonly event: EventContent;
  /** `breakwater-*`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes one signed request. Deliveries and tests of an endpoint come through here, so that a test proves something. */
export async function postToEndpoint(
  client: HttpClient,
  endpoint: EndpointRecord,
  { secrets, headers }: OpenedEndpoint,
  message: OutboundMessage,
  options: Pick<HttpRequest, 'mayWrite' | 'signal'>,
): Promise<HttpOutcome> {
  const { id, event } = message;
  const raw = endpoint.body === 'raw';
  const body = raw ? event.body : envelope(event);
  const timestampS = Math.floor(Date.now() / 1_000);
  return client.request({
    method: 'POST',
    url: endpoint.url,
    headers: {
      ...headers, // reserved names are refused at registration; ours come last all the same
      'content-type': raw ? headerSafe(event.contentType) || 'application/octet-stream' : 'application/json',
      'user-agent': 'Breakwater/0.1',
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': signStandard({ id, timestampS, body, secrets }),
      ...message.headers,
    },
    body,
    timeoutMs: endpoint.timeoutMs,
    maxBodyBytes: SAMPLE_READ_BYTES,
    repeatable: true, // the receiver dedupes by webhook-id
    ...options,
  });
}

/**
 * May the request still be written? Asked in the tick of the write, by this process' own clocks: the lease in Redis was
 * taken after the clock was started, so it ends later than this says.
 */
export function leaseCovers(clock: AttemptClock, needsMs: number, leaseMs: number): boolean {
  return clock.elapsedMs() + needsMs <= leaseMs;
}

const messageOf = (go: Go, event: EventContent): OutboundMessage => ({
  id: headerSafe(go.reference === '' ? event.eventId : go.reference),
  event,
  headers: {
    'breakwater-delivery': go.delivery,
    'breakwater-attempt': String(go.attempt),
    ...(go.trigger === 'replay' && { 'breakwater-replay': 'true' }),
  },
});

/** What an outcome means for a delivery. `secrets` are masked in the sample. */
export function resultOf(outcome: HttpOutcome, secrets: readonly string[]): AttemptResult {
  switch (outcome.kind) {
    case 'withheld':
      return { kind: 'deferred', message: 'the lease was nearly over' };
    case 'failure':
      return {
        kind: 'failed',
        class: outcome.class,
        code: outcome.code,
        message: `${outcome.message} ${remedyFor(outcome.class)}`,
      };
    case 'response': {
      const told = { code: String(outcome.status), sample: sampleOf(outcome, secrets) };
      if (outcome.status >= 200 && outcome.status <= 299) return { kind: 'sent', ...told };
      if (outcome.status === 410) return { kind: 'gone', ...told };
      const failureClass = failureClassOfStatus(outcome.status);
      const asks =
        outcome.status === 429 || outcome.status === 503
          ? parseRetryAfterMs(headerOf(outcome.headers['retry-after']), Date.now())
          : undefined;
      return {
        kind: 'failed',
        class: failureClass,
        message: `The endpoint answered ${outcome.status}. ${remedyFor(failureClass)}`,
        ...(asks !== undefined && { retryAfterMs: asks }),
        ...told,
      };
    }
  }
}

const headerOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
