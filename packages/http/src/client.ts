import { createAgents, destroyAgents } from './agents.ts';
import type { EgressGuard } from './egress.ts';
import { type Ending, type ExchangeOptions, exchange } from './exchange.ts';
import type { HttpFailure, HttpOutcome } from './outcome.ts';
import { createRedaction, withHeaders } from './redaction.ts';
import { createSlots } from './slots.ts';

/** Sockets in use per host: bounds what one hanging host can hold of a process' descriptors (often 1,024). */
const MAX_SOCKETS = 256;

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  /** Framing headers (content-length, connection, expect ...) are ignored; they follow from the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** One monotonic budget from now until the response headers: queueing, DNS, connect, TLS, request, response. */
  readonly timeoutMs: number;
  /** The body is read up to here, within 1.5 s of its own, and then cut. */
  readonly maxBodyBytes: number;
  /**
   * The peer tolerates this request twice (it dedupes, or nothing is changed): it may take a kept connection, and is
   * sent once more at once if that turns out to be closed. A reset on a kept connection looks the same whether the peer
   * never saw the request or applied it and died, so anything else gets a connection of its own and one try. Default:
   * true for GET and HEAD.
   */
  readonly repeatable?: boolean;
  /** Asked before anything starts and again in the very turn in which the request is written. Must not throw. */
  readonly mayWrite?: () => boolean;
  readonly signal?: AbortSignal;
}

export interface HttpClient {
  /** Never rejects: whatever the network, the URL or the headers do is an outcome. */
  readonly request: (request: HttpRequest) => Promise<HttpOutcome>;
  /** Ends requests in flight as `interrupted` and destroys all sockets. */
  readonly close: () => void;
}

export interface HttpClientOptions {
  /** Without a guard every address is allowed: for targets that the operator of the installation configures. */
  readonly guard?: EgressGuard;
  /** Requests at once per host; further ones wait within their timeout. */
  readonly maxSockets?: number;
  /** Patterns (RE2) that samples of the answers mask besides well-known secrets: `samples.redact` of the configuration. */
  readonly redact?: readonly string[];
}

/** Throws Error when a pattern of `redact` is none (the configuration schema refuses those earlier). */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { guard } = options;
  const agents = guard?.agents ?? createAgents({});
  const redaction = createRedaction(options.redact);
  const slots = createSlots(options.maxSockets ?? MAX_SOCKETS);
  const running = new Set<AbortController>();
  let closed = false;

  const perform = async (request: HttpRequest, stop: AbortSignal): Promise<Ending> => {
    const deadline = performance.now() + request.timeoutMs;
    const mayWrite = request.mayWrite ?? (() => true);
    if (stop.aborted) return aborted();
    if (!mayWrite()) return { kind: 'withheld' };
    const target = targetOf(request.url, guard);
    if (!(target instanceof URL)) return target;
    const release = await slots.take(target.host, request.timeoutMs, stop);
    if (!release) return stop.aborted ? aborted() : noSlot(target);
    const once = (pair: ExchangeOptions['agents']): Promise<Ending> =>
      exchange({
        ...request,
        method: request.method.toUpperCase(),
        agents: pair,
        url: target,
        body: request.body,
        mayWrite,
        signal: stop,
        remainingMs: deadline - performance.now(),
      });
    try {
      if (!isRepeatable(request)) return await once(agents.fresh);
      const first = await once(agents.pooled);
      // On a connection of its own, so that it cannot be stale again.
      return first.stale === true ? secondEnding(first, await once(agents.fresh)) : first;
    } finally {
      release();
    }
  };

  return {
    request: async (request) => {
      const started = performance.now();
      const stop = new AbortController();
      const onAbort = (): void => stop.abort();
      if (closed || request.signal?.aborted === true) stop.abort();
      request.signal?.addEventListener('abort', onAbort, { once: true });
      running.add(stop);
      try {
        const { stale: _stale, ...ending } = await perform(request, stop.signal);
        const durationMs = Math.round(performance.now() - started);
        return ending.kind === 'response'
          ? { ...ending, redaction: withHeaders(redaction, request.headers), durationMs }
          : { ...ending, durationMs };
      } finally {
        running.delete(stop);
        request.signal?.removeEventListener('abort', onAbort);
      }
    },
    close: () => {
      closed = true;
      for (const stop of running) stop.abort();
      destroyAgents(agents);
      guard?.close?.();
    },
  };
}

function isRepeatable(request: HttpRequest): boolean {
  return request.repeatable ?? (request.method === 'GET' || request.method === 'HEAD');
}

function targetOf(text: string, guard: EgressGuard | undefined): URL | Ending {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return notSent('protocol', 'ERR_INVALID_URL', 'The URL is not an http or https URL.');
  }
  // Registered URLs are judged again: the configuration may have become stricter since.
  const check = guard?.checkUrl(text);
  return check?.ok === false ? notSent('blocked_address', 'ERR_URL_REFUSED', check.message) : url;
}

/** The first try may have reached the peer, whatever the second one says about itself. */
function secondEnding(first: Ending, second: Ending): Ending {
  if (second.kind === 'withheld') return first;
  return second.kind === 'failure' ? { ...second, sent: 'maybe' } : second;
}

function notSent(name: HttpFailure['class'], code: string, message: string): Ending {
  return { kind: 'failure', class: name, code, message, sent: 'no' };
}

const aborted = (): Ending => notSent('interrupted', 'ERR_ABORTED', 'The request was aborted.');

function noSlot(url: URL): Ending {
  return notSent(
    'timeout_queue',
    'ETIMEDOUT',
    `All connections allowed to ${url.host} were busy until the timeout.`,
  );
}
