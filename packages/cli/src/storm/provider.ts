import { Agent, request as httpRequest } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import type { Source } from '@breakwater/contracts/source-config';
import { codeOf } from '@breakwater/runtime/errors';
import { pause } from '@breakwater/runtime/poll';
import { signAsProvider } from '@breakwater/signatures/sign';
import type { Order } from './orders.ts';

/** The provider's own patience with one answer, as in the story. */
const TIMEOUT_MS = 5_000;
/** A delivery that is refused for good is a wrong set-up, not a storm. */
const PERMANENT = new Set([400, 401, 404, 405, 413, 415]);
const BACKOFF_MS = { from: 100, to: 2_000 } as const;
/** A gateway or a Redis that restarts is back by then. */
const SILENT_FOR_MS = 120_000;

/** Why a storm did not end; the message is for a person. */
export class StormError extends Error {
  override readonly name = 'StormError';
}

export const STOPPED = 'it was stopped.';

export interface SendResult {
  /** ms of every acknowledgement, in order of arrival. */
  readonly acknowledgedMs: readonly number[];
  /** Sends that got no 2xx and were repeated. */
  readonly retries: number;
}

export interface SendOptions {
  readonly url: string;
  readonly source: Source;
  readonly orders: readonly Order[];
  /** Index of the order of each delivery, in the order of sending. */
  readonly deliveries: readonly number[];
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly onProgress: (acknowledged: number) => void;
  /** Called at the first send without a 2xx. */
  readonly onTrouble: (what: string) => void;
}

/**
 * Sends like a provider in a storm: many at once, each delivery repeated until it is acknowledged with a 2xx.
 * Throws StormError when the gateway refuses a delivery for good, acknowledges nothing for two minutes, or when the
 * signal is aborted.
 */
export async function sendStorm(options: SendOptions): Promise<SendResult> {
  const { deliveries, concurrency, signal } = options;
  const secure = options.url.startsWith('https:');
  const agent = new (secure ? TlsAgent : Agent)({ keepAlive: true, maxSockets: concurrency });
  const acknowledgedMs: number[] = [];
  let retries = 0;
  let next = 0;
  let heardAt = performance.now();
  const work = async (): Promise<void> => {
    for (let index = next++; index < deliveries.length; index = next++) {
      const order = options.orders[deliveries[index] ?? 0];
      if (!order) continue;
      for (let failures = 0; ; failures += 1) {
        if (signal.aborted) throw new StormError(STOPPED);
        const answer = await send(options, order, agent, secure);
        if (answer.status >= 200 && answer.status < 300) {
          acknowledgedMs.push(answer.ms);
          heardAt = performance.now();
          options.onProgress(acknowledgedMs.length);
          break;
        }
        if (PERMANENT.has(answer.status)) throw refused(options, answer);
        if (retries === 0) options.onTrouble(`${options.url}: ${answer.text}; sending again`);
        if (performance.now() - heardAt > SILENT_FOR_MS)
          throw new StormError(
            `nothing was acknowledged for ${SILENT_FOR_MS / 1_000} s. The last answer of ${options.url}: ${answer.text}. Is ingest running there?`,
          );
        retries += 1;
        await pause(Math.min(BACKOFF_MS.from * 2 ** failures, BACKOFF_MS.to), signal);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, deliveries.length) }, work));
  } finally {
    agent.destroy();
  }
  return { acknowledgedMs, retries };
}

function refused(options: SendOptions, answer: { status: number; text: string }): StormError {
  const hint =
    answer.status === 401
      ? ' The secret of the source here and at ingest must be the same: compare the configuration and its variables on both sides.'
      : answer.status === 404
        ? ' Does ingest listen there, with the same configuration?'
        : '';
  return new StormError(`${options.url} answered ${answer.status}: ${answer.text.slice(0, 300)}${hint}`);
}

/** One send. Status 0: no answer, and `text` says why. A timestamp that is signed is fresh in every send, as with real providers. */
async function send(
  options: SendOptions,
  order: Order,
  agent: Agent,
  secure: boolean,
): Promise<{ status: number; ms: number; text: string }> {
  const headers = signAsProvider(options.source, {
    headers: order.headers,
    body: order.body,
    nowMs: Date.now(),
  });
  const started = performance.now();
  return new Promise((resolve) => {
    const request = (secure ? httpsRequest : httpRequest)(options.url, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': order.body.length },
      timeout: TIMEOUT_MS,
    });
    const none = (error: Error): void =>
      resolve({ status: 0, ms: performance.now() - started, text: codeOf(error) ?? error.message });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)));
    request.on('error', none);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', none);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          ms: performance.now() - started,
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    request.end(order.body);
  });
}
