import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';

/** Bytes that a sender may have signed instead of those that arrived, and what that would mean. */
export interface BodySlip {
  readonly says: string;
  readonly body: Buffer;
}

const LF = Buffer.from('\n');
const CRLF = Buffer.from('\r\n');
const BOM = Buffer.from('\uFEFF');

/** What is done to bodies on their way, undone. Bytes that would be the same as those that arrived are left out. */
export function* bodySlips(body: Buffer): Generator<BodySlip> {
  // By hash: bytes that were told of already would only be told in other words.
  const told = new Set([hash('sha256', body)]);
  for (const slip of allSlips(body)) {
    const bytes = hash('sha256', slip.body);
    if (!told.has(bytes)) yield slip;
    told.add(bytes);
  }
}

function* allSlips(body: Buffer): Generator<BodySlip> {
  yield* lineEnds(body);
  if (body.subarray(0, BOM.length).equals(BOM)) {
    yield {
      says: 'It verifies without the byte order mark at the start of the body.',
      body: body.subarray(3),
    };
  }
  yield* jsonForms(body);
  yield {
    says: 'The signature is that of an empty body. The sender signed before it had the body, or something on the way read it.',
    body: Buffer.alloc(0),
  };
}

const ADDED = 'The sender signed it without, or the capture has added it.';
const LOST = 'The sender signed it, and it was lost on the way or in the capture.';

function* lineEnds(body: Buffer): Generator<BodySlip> {
  if (endsWith(body, CRLF))
    yield {
      says: `It verifies without the line break (CRLF) at the end of the body. ${ADDED}`,
      body: body.subarray(0, -2),
    };
  if (endsWith(body, LF))
    yield {
      says: `It verifies without the newline at the end of the body. ${ADDED}`,
      body: body.subarray(0, -1),
    };
  yield {
    says: `It verifies with a newline at the end of the body. ${LOST}`,
    body: Buffer.concat([body, LF]),
  };
  yield {
    says: `It verifies with a line break (CRLF) at the end of the body. ${LOST}`,
    body: Buffer.concat([body, CRLF]),
  };
  // latin1 maps every byte to one character and back, so that nothing else changes.
  const unix = body.toString('latin1').replaceAll('\r\n', '\n');
  const changed = 'Something has changed the line ends of the body';
  yield { says: `It verifies with LF instead of CRLF. ${changed}.`, body: Buffer.from(unix, 'latin1') };
  yield {
    says: `It verifies with CRLF instead of LF. ${changed}.`,
    body: Buffer.from(unix.replaceAll('\n', '\r\n'), 'latin1'),
  };
}

const RESERIALISED =
  'The JSON was parsed and written again after it was signed, or the sender signs another text than it sends. Sign and pass on the exact bytes.';

function* jsonForms(body: Buffer): Generator<BodySlip> {
  const value = parse(body);
  if (value === undefined) return;
  const compact = JSON.stringify(value);
  const forms: readonly (readonly [string, string])[] = [
    ['as compact JSON', compact],
    ['as JSON indented by 2 spaces', JSON.stringify(value, null, 2)],
    ['as JSON indented by 4 spaces', JSON.stringify(value, null, 4)],
    ['as compact JSON with escaped slashes, as PHP writes it', compact.replaceAll('/', String.raw`\/`)],
  ];
  for (const [form, text] of forms) {
    yield { says: `It verifies ${form}. ${RESERIALISED}`, body: Buffer.from(text) };
    yield {
      says: `It verifies ${form} and a newline. ${RESERIALISED}`,
      body: Buffer.from(`${text}\n`),
    };
  }
}

/** Undefined where the body is no JSON, or nested too deeply to be written again. */
function parse(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined;
  try {
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\uFEFF/, ''));
    JSON.stringify(value);
    return value;
  } catch {
    return undefined;
  }
}

const endsWith = (body: Buffer, end: Buffer): boolean => body.subarray(-end.length).equals(end);
