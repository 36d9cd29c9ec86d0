import type { ResponseSample } from '@breakwater/contracts/attempt-result';
import { TEST_EVENT_TYPE } from '@breakwater/contracts/endpoint';
import { remedyFor } from '@breakwater/contracts/failure-class';
import { newId } from '@breakwater/contracts/ids';
import type { HttpClient } from '@breakwater/http/client';
import { writeAudit } from '@breakwater/store/audit';
import type { EndpointRecord } from '@breakwater/store/endpoints';
import type { SecretBox } from '@breakwater/store/secret-box';
import { type GateDeps, getEndpoint, noteEndpointWorks } from './destination-gates.ts';
import { openEndpoint, toRedact } from './endpoint-secrets.ts';
import { contentOf, type EventContent } from './event-content.ts';
import { postToEndpoint, resultOf } from './send-to-endpoint.ts';

export interface EndpointTestDeps extends GateDeps {
  /** Guarded, as the dispatcher's. */
  readonly client: HttpClient;
  readonly secrets: SecretBox;
  readonly signal?: AbortSignal;
}

export interface EndpointTest {
  readonly endpoint: EndpointRecord;
  /** `webhook-id` of the request. */
  readonly testId: string;
  /** It answered 2xx. */
  readonly ok: boolean;
  /** It had been paused because it failed for too long, and this ended that. */
  readonly resumed: boolean;
  /** `sent`, or why it failed (see failure-class.ts). */
  readonly class: string;
  /** HTTP status or error code. */
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  readonly durationMs: number;
  readonly sample: ResponseSample | null;
}

/**
 * Sends one signed request of type `breakwater.test` to an endpoint, as a delivery would be sent: same guard, client,
 * headers and classes, also where it is paused. It makes no event and no delivery and counts nowhere; it is audited. A
 * success ends a pause that no person asked for, as one of a delivery would.
 * Throws AppError not_found, encryption_keys_missing, secret_unreadable.
 */
export async function testEndpoint(
  deps: EndpointTestDeps,
  { operator, id, actor }: { readonly operator: string; readonly id: string; readonly actor: string },
): Promise<EndpointTest> {
  const endpoint = await getEndpoint(deps.redis, deps.keys, operator, id);
  const opened = await openEndpoint(deps.redis, deps.secrets, endpoint);
  const testId = `test_${newId()}`;
  const event = testEvent(operator, testId);
  const outcome = await postToEndpoint(
    deps.client,
    endpoint,
    opened,
    { id: testId, event, headers: { 'breakwater-test': 'true' } },
    deps.signal ? { signal: deps.signal } : {},
  );
  const result = resultOf(outcome, toRedact(opened));
  const failureClass = result.kind === 'gone' ? 'http_gone' : 'class' in result ? result.class : result.kind;
  const ok = result.kind === 'sent';
  const code = 'code' in result ? result.code : '';
  await writeAudit(deps.redis, deps.keys, {
    action: 'endpoint.test',
    operator,
    actor,
    destination: id,
    class: failureClass,
    code,
  });
  const reason = `a test was answered with ${code}`;
  const resumed = ok && (await noteEndpointWorks(deps, id, { operator, actor, reason }));
  return {
    endpoint,
    testId,
    ok,
    resumed,
    class: failureClass,
    code,
    message: outcome.kind === 'failure' ? outcome.message : '',
    remedy: ok ? '' : remedyFor(failureClass),
    durationMs: outcome.durationMs,
    sample: ('sample' in result && result.sample) || null,
  };
}

const testEvent = (operator: string, testId: string): EventContent =>
  contentOf({
    operator,
    source: 'breakwater',
    eventId: testId,
    type: TEST_EVENT_TYPE,
    entity: '',
    receivedAt: Date.now(),
    contentType: 'application/json',
    body: Buffer.from('{"test":true,"message":"A test from Breakwater. Acknowledge it and do nothing."}'),
  });
