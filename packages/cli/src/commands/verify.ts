import { gunzipSync } from 'node:zlib';
import type { Source } from '@breakwater/contracts/source-config';
import { AppError } from '@breakwater/runtime/errors';
import { type Explanation, explainRequest } from '@breakwater/signatures/explain';
import { handshakeOf } from '@breakwater/signatures/handshake';
import { locateEvents } from '@breakwater/signatures/locate';
import { secretMask } from '@breakwater/signatures/secret-mask';
import type { Trial } from '@breakwater/signatures/slips';
import type { Command } from 'commander';
import { type CapturedRequest, parseCapture, queryOf, splitHeader } from '../captured-request.ts';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { collect, parseTime } from '../options.ts';
import { readInput } from '../read-input.ts';
import { verifyText } from './verify-view.ts';

interface VerifyOptions {
  readonly source: string;
  readonly request?: string;
  readonly body?: string;
  readonly header?: readonly string[];
  readonly method?: string;
  readonly url?: string;
  readonly at?: number;
}

/** What ingest would say to the request. */
export type Outcome =
  | { readonly kind: 'event'; readonly eventIds: readonly string[]; readonly secretId: string }
  /** A challenge or a ping, which is answered and is no event. */
  | { readonly kind: 'handshake' }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string };

export function verifyCommand(program: Command, context: CliContext): void {
  program
    .command('verify')
    .description(
      'check a captured request against a source of the configuration, offline, and explain why it fails; prints no secret',
    )
    .requiredOption('--source <name>', 'the source that the request was sent to')
    .option(
      '--request <file>',
      'the request as raw HTTP or as curl -v shows it: request line, headers, blank line, body; - reads stdin',
    )
    .option('--body <file>', 'the exact bytes of the body; - reads stdin')
    .option('--header <line>', "'Name: value', repeatable; replaces the request's own of that name", collect)
    .option('--method <method>', 'POST unless the request says otherwise')
    .option('--url <url>', 'the URL or path with its query, for sources that read or sign it')
    .option('--at <time>', 'when it was received, such as 2026-01-31T12:00:00Z (default: now)', parseTime)
    .action(context.action((options: VerifyOptions) => verify(context, options)));
}

async function verify(context: CliContext, options: VerifyOptions): Promise<number> {
  const { sources } = context.config();
  const source = Object.hasOwn(sources, options.source) ? sources[options.source] : undefined;
  if (source === undefined) {
    const known = Object.keys(sources).join(', ') || 'none';
    throw new AppError('source_unknown', `The configuration has no source ${options.source}: ${known}.`);
  }
  const captured = await capture(context, options);
  const nowMs = options.at ?? context.io.now();
  const trial = { source, request: { ...unpacked(source, captured), nowMs } };
  const explanation = explainRequest(sources, options.source, trial);
  const outcome = outcomeOf(trial, explanation);
  const ok = outcome.kind !== 'refused';
  const result = hiding(secretMask(Object.values(sources)), {
    ok,
    source: options.source,
    judgedAt: nowMs,
    ...outcome,
    notes: notesOn(captured),
    checks: explanation.checks,
    slips: explanation.slips,
  });
  context.print(result, () => verifyText(result));
  return ok ? EXIT.ok : EXIT.failure;
}

/** Ids and names in it are the request's, and who captures one may well have put a secret in the wrong place. */
function hiding<T>(mask: (text: string) => string, result: T): T {
  const hidden: T = JSON.parse(JSON.stringify(result), (_key, value: unknown) =>
    typeof value === 'string' ? mask(value) : value,
  );
  return hidden;
}

/** In the order in which ingest asks. */
function outcomeOf({ source, request }: Trial, { verdict }: Explanation): Outcome {
  const open = handshakeOf(source, request, false);
  if (open.kind === 'answer') return { kind: 'handshake' };
  if (open.kind === 'refused') return REFUSED_CHALLENGE;
  if (!verdict.ok) return { kind: 'refused', code: verdict.code, message: verdict.message };
  const closed = handshakeOf(source, request, true);
  if (closed.kind === 'answer') return { kind: 'handshake' };
  if (closed.kind === 'refused') return REFUSED_CHALLENGE;
  const located = locateEvents(source, request);
  if (!located.ok) return { kind: 'refused', code: located.code, message: located.message };
  return {
    kind: 'event',
    eventIds: located.events.map(({ eventId }) => eventId),
    secretId: verdict.secretId,
  };
}

const REFUSED_CHALLENGE: Outcome = {
  kind: 'refused',
  code: 'request_invalid',
  message: 'The challenge does not carry what was agreed.',
};

async function capture(context: CliContext, options: VerifyOptions): Promise<CapturedRequest> {
  const { request: file, body, method, url } = options;
  if (file === undefined && body === undefined && options.header === undefined)
    throw new AppError('request_invalid', 'There is no request: give --request, or --header and --body.');
  if (file === '-' && body === '-')
    throw new AppError('request_invalid', 'Only one of --request and --body can be stdin.');
  const captured = parseCapture(
    file === undefined ? Buffer.alloc(0) : await read(context, '--request', file),
  );
  return {
    method: method ?? captured.method,
    query: url === undefined ? captured.query : queryOf(url),
    headers: { ...captured.headers, ...givenHeaders(options.header ?? []) },
    body: body === undefined ? captured.body : await read(context, '--body', body),
  };
}

function givenHeaders(lines: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = Object.create(null);
  for (const line of lines) {
    const [name, value] = splitHeader(line) ?? [];
    if (name === undefined || value === undefined)
      throw new AppError('request_invalid', "A --header is no header: give it as 'Name: value'.");
    (headers[name.toLowerCase()] ??= []).push(value);
  }
  return headers;
}

/** The largest body of any source, and room for its head. */
const FILE_MAX_BYTES = 26 * 1024 * 1024;

const read = (context: CliContext, option: string, path: string): Promise<Buffer> =>
  readInput(context, option, path, FILE_MAX_BYTES);

/** As ingest reads compressed bodies: the source says which bytes are signed. */
function unpacked(source: Source, captured: CapturedRequest): CapturedRequest & { decoded?: Buffer } {
  const encoding = captured.headers['content-encoding']?.[0]?.trim().toLowerCase() ?? '';
  if (encoding !== 'gzip' || !source.request.encodings.includes('gzip')) return captured;
  try {
    const decoded = gunzipSync(captured.body, { maxOutputLength: source.maxBodyBytes });
    return source.request.signedBytes === 'received'
      ? { ...captured, decoded }
      : { ...captured, body: decoded };
  } catch (error) {
    const message =
      'The body is not gzip of at most maxBodyBytes, though content-encoding says so. Capture it as it was sent, or leave that header out.';
    throw new AppError('request_invalid', message, { cause: error });
  }
}

/** What is odd about the capture itself. */
function notesOn({ headers, body }: CapturedRequest): string[] {
  const notes: string[] = [];
  const length = headers['content-length']?.[0];
  if (length !== undefined && Number(length) !== body.length)
    notes.push(
      `The header content-length says ${Number(length)} bytes, and the body here has ${body.length}: the capture is not exact.`,
    );
  if (
    headers['transfer-encoding']?.[0]?.toLowerCase().includes('chunked') &&
    /^[0-9a-f]+\r\n/i.test(body.toString('latin1', 0, 20))
  )
    notes.push('The body seems to hold the sizes of its chunks: give the body without them.');
  return notes;
}
