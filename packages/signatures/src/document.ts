import { findSpan } from '@breakwater/contracts/json-spans';
import { parsePointer, resolvePointer, textAt } from '@breakwater/contracts/pointer';
import type { Source } from '@breakwater/contracts/source-config';
import type { Scope } from '@breakwater/contracts/source-parts';
import { type HeaderRead, mediaTypeOf, readHeader, type SignedRequest } from './headers.ts';
import { readXml, readXmlAt, type XmlElement } from './xml.ts';

type ParseRules = Source['parse'];

/** Where an item of a batch was found. */
export interface Outer {
  /** The element of the batch's list. */
  readonly element: () => ParsedBody;
  /** The whole body. */
  readonly delivery: ParsedBody;
}

/**
 * A body as the source reads it; decoded and parsed when somebody first asks, and at most once. Never changed and never
 * written out again: what goes on are the bytes.
 */
export class ParsedBody {
  /** Why the body could not be read, once somebody needed it. */
  failure: string | undefined;
  readonly bytes: Buffer;
  /** Of an item of a batch: what it was found in. */
  readonly outer: Outer | undefined;
  readonly #parse: ParseRules;
  #json: { readonly text: string; readonly value: unknown } | undefined;
  #xml: XmlElement | undefined;
  readonly #reads = new Map<string, HeaderRead>();
  #form: readonly (readonly [string, string])[] | undefined;

  constructor(bytes: Buffer, parse: ParseRules, outer?: Outer) {
    this.bytes = bytes;
    this.#parse = parse;
    this.outer = outer;
  }

  #textAt(pointer: string): string | undefined {
    const json = this.#read();
    if (json === undefined) return undefined;
    try {
      return textAt(json, tokensOf(pointer));
    } catch (error) {
      // JSON.parse itself takes any depth, but reading a number exactly recurses: tens of thousands of levels exhaust the stack.
      if (!(error instanceof RangeError)) throw error;
      this.failure = 'The body is JSON that is nested too deeply to be read.';
      return undefined;
    }
  }

  /**
   * Text of the scalar at a pointer, numbers exactly as written. It may identify or prove, so a member that is there
   * twice is not resolved to one of them. Remembered, since each of a thousand items may ask the delivery that it came in.
   */
  readAt(pointer: string): HeaderRead {
    const known = this.#reads.get(pointer);
    if (known !== undefined) return known;
    const read = this.#find(pointer);
    this.#reads.set(pointer, read);
    return read;
  }

  #find(pointer: string): HeaderRead {
    if (this.#parse.format === 'xml') return this.#readXmlAt(pointer);
    const text = this.#textAt(pointer);
    if (text === undefined) return { kind: 'missing' };
    const source = this.#json?.text ?? ''; // empty for a form, whose repeated fields are no text already
    const tokens = tokensOf(pointer);
    if (mayRepeat(source, tokens) && findSpan(source, tokens) === 'repeated') return { kind: 'repeated' };
    return { kind: 'one', text };
  }

  /** Is the value at a pointer `true` or `false`? Such a value tells facts apart only beside others. */
  isBooleanAt(pointer: string): boolean {
    return (
      this.#parse.format !== 'xml' &&
      typeof resolvePointer(this.#read()?.value, tokensOf(pointer)) === 'boolean'
    );
  }

  /** The body as JSON, with its text. Undefined where it is none. */
  json(): { readonly text: string; readonly value: unknown } | undefined {
    return this.#read();
  }

  /** What a pointer of that scope looks into. Without a batch there is only one. */
  in(scope: Scope): ParsedBody {
    if (scope === 'element') return this.outer?.element() ?? this;
    return scope === 'delivery' ? (this.outer?.delivery ?? this) : this;
  }

  /** Fields of a form body in their order, decoded. Undefined where the body is no UTF-8. */
  fields(): readonly (readonly [string, string])[] | undefined {
    if (this.#form === undefined) {
      const text = this.#decode();
      if (text !== undefined) this.#form = [...new URLSearchParams(text)];
    }
    return this.#form;
  }

  #decode(): string | undefined {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes); // also drops a byte order mark
    } catch {
      this.failure = 'The body is not valid UTF-8. Send it in UTF-8.';
      return undefined;
    }
  }

  #readXmlAt(pointer: string): HeaderRead {
    if (this.#xml === undefined && this.failure === undefined) {
      const text = this.#decode();
      const read = text === undefined ? undefined : readXml(text);
      if (read !== undefined && 'failure' in read) this.failure = read.failure;
      else this.#xml = read?.root;
    }
    return this.#xml === undefined ? { kind: 'missing' } : readXmlAt(this.#xml, tokensOf(pointer));
  }

  #read(): { readonly text: string; readonly value: unknown } | undefined {
    if (this.#json !== undefined || this.failure !== undefined) return this.#json;
    const { format, formField } = this.#parse;
    if (format === 'form') return this.#readForm(formField);
    if (format !== 'json') return undefined;
    const text = this.#decode();
    return text === undefined ? undefined : this.#readJson(text);
  }

  #readForm(formField: string | undefined): { readonly text: string; readonly value: unknown } | undefined {
    const fields = this.fields();
    if (fields === undefined) return undefined;
    if (formField !== undefined) {
      const values = fields.filter(([name]) => name === formField);
      if (values.length === 1) return this.#readJson(values[0]?.[1] ?? '');
      this.failure = `The form has the field ${formField} ${values.length} times. Send it once.`;
      return undefined;
    }
    // A field that comes twice becomes a list, which no pointer takes for a text.
    const value: Record<string, string | string[]> = Object.create(null);
    for (const [name, text] of fields) {
      const before = value[name];
      value[name] = before === undefined ? text : [before, text].flat();
    }
    this.#json = { text: '', value };
    return this.#json;
  }

  #readJson(text: string): { readonly text: string; readonly value: unknown } | undefined {
    try {
      this.#json = { text, value: JSON.parse(text) as unknown };
    } catch {
      // The parser's own message would quote the payload.
      this.failure = text === '' ? 'The body is empty. Send JSON.' : 'The body is not valid JSON. Send JSON.';
    }
    return this.#json;
  }
}

const parsed = new Map<string, readonly string[]>();

/** Tokens of a pointer, which is parsed once: pointers come from the configuration alone, and every request asks. */
export function tokensOf(pointer: string): readonly string[] {
  let tokens = parsed.get(pointer);
  if (tokens === undefined) {
    tokens = parsePointer(pointer) ?? [];
    parsed.set(pointer, tokens);
  }
  return tokens;
}

/** Walking a body of megabytes costs as much as parsing it; most hold each name once, and no escaped ones. */
const mayRepeat = (text: string, tokens: readonly string[]): boolean =>
  text.includes('\\') ||
  tokens.some((token) => {
    const name = JSON.stringify(token);
    return text.indexOf(name) !== text.lastIndexOf(name);
  });

/** One field of a form body. As with headers, two of one name are never resolved to one of them. */
export function readField(document: ParsedBody, name: string): HeaderRead {
  const values = (document.fields() ?? []).filter(([field]) => field === name);
  const [first] = values;
  if (first === undefined) return { kind: 'missing' };
  return values.length === 1 ? { kind: 'one', text: first[1] } : { kind: 'repeated' };
}

/** Verifying and locating may both need the document of one request; it is parsed once. */
const documents = new WeakMap<SignedRequest, ParsedBody>();

/** The document of a request's whole body. */
export function documentOf(parse: ParseRules, request: SignedRequest): ParsedBody {
  let document = documents.get(request);
  if (document === undefined) {
    const type = readHeader(request.headers, 'content-type');
    const isRead = parse.contentTypes?.includes(type.kind === 'one' ? mediaTypeOf(type.text) : '') ?? true;
    document = new ParsedBody(request.decoded ?? request.body, isRead ? parse : { format: 'none' });
    documents.set(request, document);
  }
  return document;
}
