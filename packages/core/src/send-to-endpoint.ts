import type { AttemptResult } from '@breakwater/contracts/attempt-result';
import { headerSafe, parseDeliveryId } from '@breakwater/contracts/ids';
import { remedyFor } from '@breakwater/contracts/failure-class';
import { failureClassOfStatus } from '@breakwater/http/classify';
import type { HttpClient } from '@breakwater/http/client';
import type { HttpOutcome } from '@breakwater/http/outcome';
import { parseRetryAfterMs } from '@breakwater/http/retry-after';
import { SAMPLE_READ_BYTES, sampleOf } from '@breakwater/http/sample';
import { signStandard } from '@breakwater/signatures/standard-webhooks';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, readEndpoint } from '@breakwater/store/endpoints';
import type { Keyspace } from '@breakwater/store/keys';
import type { SecretBox } from '@breakwater/store/secret-box';
import type { Go } from '@breakwater/store/go';
import type { AttemptClock } from './attempt-clock.ts';
import type { Performer } from './attempts.ts';
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
    const secrets = endpoint.secrets.map((sealed) => deps.secrets.open(sealed));
    const outcome = await deps.client.request({
      method: 'POST',
      url: endpoint.url,
      ...message(go, contentOf(event), endpoint, secrets),
      timeoutMs: endpoint.timeoutMs,
      maxBodyBytes: SAMPLE_READ_BYTES,
      repeatable: true, // the receiver dedupes by webhook-id
      mayWrite: () => leaseCovers(clock, endpoint.timeoutMs, go.leaseMs),
    });
    return resultOf(outcome, secrets);
  };
}

/**
 * May the request still be written? Asked in the tick of the write, by this process' own clocks: the lease in Redis was
 * taken after the clock was started, so it ends later than this says.
 */
export function leaseCovers(clock: AttemptClock, needsMs: number, leaseMs: number): boolean {
  return clock.elapsedMs() + needsMs <= leaseMs;
}

function message(
  go: Go,
  event: EventContent,
  endpoint: EndpointRecord,
  secrets: readonly string[],
): { headers: Record<string, string>; body: Buffer } {
  const id = headerSafe(go.reference === '' ? event.eventId : go.reference);
  const body = endpoint.body === 'raw' ? event.body : envelope(event);
  const timestampS = Math.floor(Date.now() / 1_000);
  return {
    body,
    headers: {
      'content-type':
        endpoint.body === 'raw'
          ? headerSafe(event.contentType) || 'application/octet-stream'
          : 'application/json',
      'user-agent': 'Breakwater/0.1',
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': signStandard({ id, timestampS, body, secrets }),
      'breakwater-delivery': go.delivery,
      'breakwater-attempt': String(go.attempt),
      ...(go.trigger === 'replay' && { 'breakwater-replay': 'true' }),
    },
  };
}

function resultOf(outcome: HttpOutcome, secrets: readonly string[]): AttemptResult {
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
