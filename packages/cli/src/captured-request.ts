import { AppError } from '@breakwater/runtime/errors';
import { headerLines, type HeaderLines } from '@breakwater/signatures/headers';

/** A request as somebody has written it down. */
export interface CapturedRequest {
  readonly method: string;
  /** As received, without the question mark. */
  readonly query: string;
  readonly headers: HeaderLines;
  readonly body: Buffer;
}

const REQUEST_LINE = /^([A-Z]{3,10}) (\S+)(?: HTTP\/[\d.]+)?$/;
/** RFC 9110, 5.6.2; HTTP/2 writes method and path as `:method` and `:path`. */
const HEADER = /^(:?[!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/;
/** What `curl -v` writes between request and answer, at the start of a line; the last form counts bytes instead of showing them. */
const CURL_NOTE = /(?<![^\n])(?:\* |< |[{}] \[\d+ bytes data\])/;

/** Ingest takes heads of 16 KiB; a proxy or a person may have added lines. What is larger is a body without its head. */
const HEAD_MAX = 64 * 1024;

/**
 * Reads a request as raw HTTP (request line, headers, blank line, body byte for byte) or as `curl -v` shows one (the head
 * behind `> `). Throws AppError request_invalid that names the line, never what is in it: it may be a secret.
 */
export function parseCapture(bytes: Buffer): CapturedRequest {
  // One character for each byte, which is also how Node reads headers.
  const text = bytes.toString('latin1');
  const isCurl = /^> /m.test(text) && !HEADER.test(firstLine(text)) && !REQUEST_LINE.test(firstLine(text));
  const { lines, bodyAt } = headOf(text, isCurl);
  const body = isCurl ? untilNote(text.slice(bodyAt)) : text.slice(bodyAt);
  const request = { method: 'POST', target: '' };
  const rawHeaders: string[] = [];
  for (const [index, line] of lines.entries()) {
    const [, method, target] = (index === 0 && REQUEST_LINE.exec(line)) || [];
    if (method !== undefined && target !== undefined) {
      Object.assign(request, { method, target });
      continue;
    }
    const [name, value] = splitHeader(line) ?? invalid(index);
    if (name === ':method') request.method = value;
    else if (name === ':path') request.target = value;
    else if (!name.startsWith(':')) rawHeaders.push(name, value);
  }
  return {
    method: request.method,
    query: queryOf(request.target),
    headers: headerLines(rawHeaders),
    body: Buffer.from(body, 'latin1'),
  };
}

/** Name and value of a header line, without the spaces around the value, as HTTP reads it. Undefined where it is none. */
export function splitHeader(line: string): [name: string, value: string] | undefined {
  const [, name, value] = HEADER.exec(line) ?? [];
  return name === undefined || value === undefined
    ? undefined
    : [name, value.replace(/^[ \t]+|[ \t]+$/g, '')];
}

export const queryOf = (target: string): string => {
  const at = target.indexOf('?');
  return at === -1 ? '' : target.slice(at + 1).replace(/#.*$/, '');
};

const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? '';

function invalid(index: number): never {
  throw new AppError(
    'request_invalid',
    `Line ${index + 1} of the request's head is no header. Expected a request line, headers as "name: value", a blank line, and the body.`,
  );
}

/** The lines up to the blank one, and where the body begins. Without a blank line there is no body. */
function headOf(text: string, isCurl: boolean): { lines: string[]; bodyAt: number } {
  const lines: string[] = [];
  let [at, size] = [0, 0];
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? text.length : end).replace(/\r$/, '');
    at = end === -1 ? text.length : end + 1;
    if (isCurl && !line.startsWith('>')) continue;
    const said = isCurl ? line.replace(/^> ?/, '') : line;
    if (said === '') break;
    size += said.length;
    if (size > HEAD_MAX) throw tooLargeHead();
    lines.push(said);
  }
  return { lines, bodyAt: at };
}

const tooLargeHead = (): AppError =>
  new AppError(
    'request_invalid',
    `The head of the request holds more than ${HEAD_MAX} bytes. Expected a request line, headers, a blank line, and the body; without a head give the body with --body.`,
  );

function untilNote(text: string): string {
  const at = text.search(CURL_NOTE);
  return at === -1 ? text : text.slice(0, at);
}
