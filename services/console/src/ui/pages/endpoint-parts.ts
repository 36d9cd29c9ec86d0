import { formatDuration } from '@breakwater/contracts/duration';
import { recentInWords } from '@breakwater/core/endpoint-view';
import { html, type SafeHtml } from '@remix-run/html-template';
import type { Answer, Visit } from '../page.ts';
import { block, code, foreign } from '../parts.ts';

export type Endpoint = Answer<'getEndpoint'>;

export const idOf = ({ params }: Visit): string => params['id'] ?? '';

export const endpointOf = (visit: Visit): Promise<Endpoint> =>
  visit.call('getEndpoint', { params: { id: idOf(visit) } });

/** Whether anything is sent, and since when not; how long it has been failing. In words and, besides, in colours. */
export function endpointState(
  { paused, pausedAutomatically, failingSince }: Endpoint,
  now: number,
): SafeHtml {
  const failing =
    failingSince === null
      ? ''
      : html` <small>no success for ${formatDuration(Math.max(0, now - failingSince))}</small>`;
  if (paused)
    return html`<span class="status" data-status="held"
        >${pausedAutomatically ? 'paused automatically' : 'paused'}</span
      >${failing}`;
  return failingSince === null
    ? html`<span class="status" data-status="sent">active</span>`
    : html`<span class="status" data-status="failed">failing</span>${failing}`;
}

export const recentAnswers = ({ recent }: Endpoint): string => recentInWords(recent);

/** When the overlap of a rotation ends, ms; undefined where none is open. */
export const overlapEnd = ({ secrets }: Endpoint, now: number): number | undefined =>
  secrets.map(({ expiresAt }) => expiresAt).find((at): at is number => at !== null && at > now);

export const whichEndpoint = ({ url, id }: Endpoint): SafeHtml =>
  html`<p>${foreign(url)} <small>${code(id)}</small></p>`;

/** A signing secret, this once, and how whoever gets it proves that a request is ours. */
export const secretOnce = (secret: string): SafeHtml =>
  html`<section class="panel" aria-label="Signing secret">
      <p><strong>Signing secret.</strong> It is shown this once: hand it to the receiver now.</p>
      <p><code class="once">${secret}</code></p>
      <p><small>It is stored encrypted. Who has lost it rotates it.</small></p>
    </section>
    <section>
      <h2>How the receiver verifies</h2>
      <p>The signatures are Standard Webhooks: any library for them will do. With one, in JavaScript:</p>
      ${block(SAMPLE, 'How to verify, in JavaScript')}
      <p>By hand:</p>
      <ol>
        <li>Take the raw bytes of the body, before anything has parsed them.</li>
        <li>
          Sign <code>webhook-id.webhook-timestamp.body</code> (the two headers and the body, with dots
          between) with HMAC-SHA256. The key is what follows <code>whsec_</code>, decoded from base64.
        </li>
        <li>
          Compare the result, in base64, with every signature in <code>webhook-signature</code>, in constant
          time. It holds <code>v1,</code> and the signature; during a rotation two of them, separated by a
          space.
        </li>
        <li>Answer 401 when none is equal.</li>
        <li>
          Delivery is at least once: commit the event under its <code>webhook-id</code>, then answer 2xx.
        </li>
      </ol>
    </section>`;

const SAMPLE = `import { Webhook } from 'standardwebhooks';
new Webhook(secret).verify(rawBody, headers); // throws when it is not authentic`;
