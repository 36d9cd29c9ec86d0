import * as http from 'node:http';
import * as https from 'node:https';
import got, { RequestError } from 'got';
import type { AgentPair, HeldOptions } from './agents.ts';
import { TOO_MANY_INTERIM, failureClassOfError } from './classify.ts';
import type { HttpFailure, HttpResponse, HttpWithheld } from './outcome.ts';
import { type Phase, timeoutIn } from './phase.ts';

/** Once the status is in, the body gets this long and no more: it is a sample or a short document, never the result. */
const BODY_DEADLINE_MS = 1_500;

/** 100, 102 and 103 come once or a few times; a peer that sends nothing else keeps this process busy for the whole timeout. */
const INTERIM_MAX = 50;

/** An error of OpenSSL is a paragraph; people need its first line. */
const MESSAGE_CHARS = 300;

/**
 * Framing and connection control belong to node:http. `expect` would even make it write headers before the request was
 * allowed to.
 */
const OWN_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** got as a plain HTTP stream: whatever it would do on its own account (retry, follow, unpack, judge) is off. */
const client = got.extend({
  retry: { limit: 0 },
  followRedirect: false,
  throwHttpErrors: false,
  decompress: false,
  strictContentLength: false,
  http2: false,
  maxHeaderSize: 16_384,
  https: { rejectUnauthorized: true },
});

export interface ExchangeOptions {
  readonly agents: AgentPair;
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | undefined;
  /** What is left of the budget until the response headers, and its full length for the message. */
  readonly remainingMs: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly mayWrite: () => boolean;
  readonly signal: AbortSignal;
}

/** `stale`: a kept connection turned out to be closed, and no answer came. */
export type Ending = (Untimed<HttpResponse> | Untimed<HttpFailure> | Untimed<HttpWithheld>) & {
  readonly stale?: boolean;
};
type Untimed<T> = Omit<T, 'durationMs'>;

/** One request on one connection. Resolves always; errors of the network are values. */
export async function exchange(options: ExchangeOptions): Promise<Ending> {
  return new Exchange(options).run();
}

/**
 * The phases of phase.ts, then answered -> ended. `written` begins in the turn in which the connected socket is
 * assigned; `answered` with the response headers, and from there the outcome can only be a response.
 */
class Exchange {
  readonly #options: ExchangeOptions;
  readonly #ended = Promise.withResolvers<Ending>();
  readonly #abandon = new AbortController();
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #interim = 0;
  #phase: Phase = 'connecting';
  #response: http.IncomingMessage | undefined;
  #isOver = false;
  #request: http.ClientRequest | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  async run(): Promise<Ending> {
    const { signal, remainingMs } = this.#options;
    const onAbort = (): void => this.#fail('ERR_ABORTED', 'The request was aborted.', 'interrupted');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const stream = this.#isOver ? undefined : this.#open();
    // After a stall of this process timers fire before sockets are read. One poll later an answer that was there counts.
    const budget = setTimeout(() => setImmediate(() => this.#onTimeout()), Math.max(0, remainingMs));
    const ending = await this.#ended.promise;
    clearTimeout(budget);
    signal.removeEventListener('abort', onAbort);
    this.#abandon.abort();
    stream?.destroy(); // does nothing to a connection that has gone back to the pool
    return ending;
  }

  #open(): ReturnType<typeof client.stream> | undefined {
    const { agents, method, url, headers, body } = this.#options;
    const bodyless = body === undefined && (method === 'GET' || method === 'HEAD');
    try {
      const stream = client.stream(url, {
        method,
        headers: requestHeaders(headers, bodyless ? undefined : (body ?? '')),
        allowGetBody: !bodyless,
        agent: { http: agents.http, https: agents.https },
        request: (target, native) => this.#send(target, native),
      });
      stream.on('error', (error: unknown) => this.#onError(error));
      stream.on('close', () => this.#onError(new Error('the connection was closed')));
      stream.on('data', (chunk: Buffer) => this.#onData(chunk));
      stream.on('end', () => this.#answer(false));
      // One write holds the whole body, so that headers and body leave in the turn that mayWrite was asked in.
      if (!bodyless) stream.end(body);
      return stream;
    } catch (error) {
      this.#onError(error);
      return undefined;
    }
  }

  #send(url: URL, native: https.RequestOptions): http.ClientRequest {
    const held: https.RequestOptions & HeldOptions = {
      ...native,
      abandon: this.#abandon.signal,
      onPhase: (phase) => {
        if (this.#phase !== 'written') this.#phase = phase;
      },
    };
    const request = url.protocol === 'https:' ? https.request(url, held) : http.request(url, held);
    const { agents } = this.#options;
    this.#request = request;
    // node:http writes what is queued right after this event, in the same turn; a destroyed socket takes nothing.
    request.once('socket', (socket) => {
      // A kept connection was made under the same policy; asked again, since this is the one place that all pass.
      const refusal = agents.refusalOf(socket);
      if (refusal) {
        socket.destroy();
        this.#onError(refusal);
        return;
      }
      if (this.#options.mayWrite() && !this.#isOver) {
        this.#phase = 'written';
        return;
      }
      socket.destroy();
      this.#end({ kind: 'withheld' });
    });
    request.on('information', () => {
      this.#interim += 1;
      if (this.#interim > INTERIM_MAX)
        this.#fail(
          TOO_MANY_INTERIM,
          `More than ${INTERIM_MAX} interim answers (1xx) and no final one.`,
          undefined,
        );
    });
    request.once('response', (response) => this.#onHead(response));
    // got listens for upgrades and would let go of the socket without closing it. Nobody asked for one: 101 is an answer.
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      this.#onHead(response);
      this.#answer(false);
    });
    return request;
  }

  #onHead(response: http.IncomingMessage): void {
    this.#response = response;
    const deadline = setTimeout(() => this.#answer(true), BODY_DEADLINE_MS);
    void this.#ended.promise.then(() => clearTimeout(deadline));
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    if (!this.#keep(chunk)) this.#answer(true);
  }

  /** False when there is more than was asked for. */
  #keep(chunk: Buffer): boolean {
    const room = this.#options.maxBodyBytes - this.#size;
    this.#size += Math.min(chunk.length, room);
    // Copied, since a slice would keep the whole chunk alive for as long as somebody keeps the sample.
    this.#chunks.push(Buffer.from(chunk.subarray(0, room)));
    return chunk.length <= room;
  }

  #answer(truncated: boolean): void {
    const response = this.#response;
    if (!response || this.#isOver) return;
    // got stops reading at the first error; what had arrived by then still belongs to the sample.
    const rest: unknown = truncated ? response.read() : null;
    if (Buffer.isBuffer(rest)) this.#keep(rest);
    const { statusCode = 0, headers } = response;
    this.#end({
      kind: 'response',
      status: statusCode,
      headers,
      body: Buffer.concat(this.#chunks),
      truncated,
    });
  }

  #onError(error: unknown): void {
    const { code, message } = innermost(error);
    this.#fail(code, message, undefined);
  }

  #onTimeout(): void {
    if (this.#response) return; // what the body may take is counted apart
    const timeout = timeoutIn(this.#phase, this.#request?.writableFinished === true);
    this.#fail('ETIMEDOUT', `${timeout.missing} within ${this.#options.timeoutMs} ms.`, timeout.class);
  }

  #fail(code: string, message: string, name: HttpFailure['class'] | undefined): void {
    this.#answer(true); // the status decides, whatever happens after it
    this.#end({
      kind: 'failure',
      class: name ?? failureClassOfError(code, this.#phase),
      code,
      message: message.split('\n', 1)[0]?.slice(0, MESSAGE_CHARS) ?? '',
      sent: this.#phase === 'written' ? 'maybe' : 'no',
      stale: this.#request?.reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE'),
    });
  }

  /** The first ending counts. */
  #end(ending: Ending): void {
    this.#isOver = true;
    this.#ended.resolve(ending);
  }
}

function requestHeaders(
  given: ExchangeOptions['headers'],
  body: Buffer | string | undefined,
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': 'breakwater' };
  for (const [name, value] of Object.entries(given)) {
    if (!OWN_HEADERS.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
  }
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body));
  return headers;
}

/** got wraps errors, and its own codes say less than those of what happened. */
function innermost(error: unknown): { code: string; message: string } {
  let cause = error instanceof RequestError && error.cause instanceof Error ? error.cause : error;
  // One error per address that was tried; they seldom differ.
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) cause = cause.errors[0];
  if (!(cause instanceof Error)) return { code: '', message: String(cause) };
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return { code, message: cause.message };
}
