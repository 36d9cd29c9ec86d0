import type { IncomingMessage, ServerResponse } from 'node:http';

/** What came of reading a body. Only `read` holds bytes, and their share of the budget until they are given back. */
export type BodyRead =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'encoding_unsupported' }
  /** All bodies being read and accepted together are over the budget. */
  | { readonly kind: 'overloaded' }
  /** The client went away, or was too slow for the server's time-out: there is nobody to answer. */
  | { readonly kind: 'aborted' };

/** Bytes that all requests of a process may hold at one time. */
export interface BodyBudget {
  /** False, and nothing is taken, when the bytes do not fit any more. */
  readonly take: (bytes: number) => boolean;
  readonly give: (bytes: number) => void;
  readonly held: () => number;
}

/** Nothing is known about who sends until the whole body is here, so strangers' uploads must not exhaust the memory. */
export function createBodyBudget(maxBytes: number): BodyBudget {
  let held = 0;
  return {
    take: (bytes) => {
      if (held + bytes > maxBytes) return false;
      held += bytes;
      return true;
    },
    give: (bytes) => {
      held -= bytes;
    },
    held: () => held,
  };
}

export interface ReadOptions {
  readonly maxBytes: number;
  readonly budget: BodyBudget;
  /** Content encodings that the source takes. The bytes are read as they are; see `inflate`. */
  readonly encodings?: readonly string[];
}

/**
 * Reads the bytes of a body as they were sent. body-parser would read all of an oversized upload before it answers 413;
 * here the declared length is judged before anything is read, and the count while reading. After anything but `read`
 * the rest of the upload is still on its way: answer with `send`, which ends the connection.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReadOptions,
): Promise<BodyRead> {
  const encoding = encodingOf(request);
  if (encoding !== undefined && !options.encodings?.includes(encoding))
    return { kind: 'encoding_unsupported' };
  // Absent for chunked uploads. Node's parser lets nothing through that is not a number, nor more bytes than declared.
  if (Number(request.headers['content-length'] ?? 0) > options.maxBytes) return { kind: 'too_large' };
  // The server leaves this to us (see server.ts), so that a refused upload is not asked for first.
  if (/(?:^|\W)100-continue(?:$|\W)/i.test(request.headers.expect ?? '')) response.writeContinue(); // as Node finds it
  return collect(request, options);
}

/** Undefined for none. Most sources take none: a body that must be inflated first is a way to fill the memory. */
export function encodingOf(request: IncomingMessage): string | undefined {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

async function collect(request: IncomingMessage, { maxBytes, budget }: ReadOptions): Promise<BodyRead> {
  const { promise, resolve } = Promise.withResolvers<BodyRead>();
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  const settle = (result: BodyRead): void => {
    request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    if (result.kind !== 'read') {
      request.pause();
      budget.give(sizeBytes);
    }
    resolve(result);
  };
  const onData = (chunk: Buffer): void => {
    if (sizeBytes + chunk.length > maxBytes) return settle({ kind: 'too_large' });
    if (!budget.take(chunk.length)) return settle({ kind: 'overloaded' });
    sizeBytes += chunk.length;
    chunks.push(chunk);
  };
  const onEnd = (): void => settle({ kind: 'read', bytes: Buffer.concat(chunks, sizeBytes) });
  const onGone = (): void => settle({ kind: 'aborted' });
  request.on('data', onData).once('end', onEnd).once('error', onGone).once('close', onGone);
  return promise;
}
