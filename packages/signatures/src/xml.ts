import sax from 'sax';
import type { HeaderRead } from './headers.ts';

/** An element of a document, as far as something is looked up in it. */
export interface XmlElement {
  readonly name: string;
  /** The start tag as written. */
  readonly tag: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly children: XmlElement[];
  /** All text directly in it, its character data sections too. */
  text: string;
}

/** No provider's notification is near these; without them a small body could cost a lot of memory. */
const MAX_DEPTH = 100;
const MAX_NODES = 50_000; // elements and attributes

/** Without `strictEntities` the 253 of HTML would be known too; @types/sax does not know that setting. */
const OPTIONS = { strictEntities: true, trim: false };

class Unreadable extends Error {}

/**
 * Reads XML so that texts in it can be found; the document itself stays the bytes that it is. A DTD is refused, so there
 * are no entities but the five of XML itself: nothing expands, and nothing is fetched. Iterative, in one pass.
 */
export function readXml(text: string): { readonly root: XmlElement } | { readonly failure: string } {
  const open: XmlElement[] = [];
  let root: XmlElement | undefined;
  let nodes = 0;
  const parser = sax.parser(true, OPTIONS);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- callbacks of sax, not events of a page
  parser.onerror = () => {
    throw new Unreadable('The body is not well-formed XML.'); // the parser's own message would quote the payload
  };
  parser.ondoctype = () => {
    throw new Unreadable('The body is XML with a DTD, which is refused. Send it without <!DOCTYPE>.');
  };
  parser.onprocessinginstruction = ({ name, body }) => {
    if (name === 'xml' && !isUtf8Declared(body))
      throw new Unreadable('The body is XML that declares another encoding than UTF-8. Send it in UTF-8.');
  };
  parser.onattribute = () => {
    nodes = counted(nodes);
  };
  parser.onopentag = ({ name, attributes }) => {
    nodes = counted(nodes);
    if (open.length === MAX_DEPTH)
      throw new Unreadable(`The body is XML that is nested deeper than ${MAX_DEPTH} levels.`);
    const tag = text.slice(parser.startTagPosition - 1, parser.position);
    const element: XmlElement = {
      name,
      tag,
      attributes,
      children: [],
      text: '',
    };
    if (open.length === 0 && root !== undefined) throw new Unreadable('The body is XML with two roots.');
    root ??= element;
    open.at(-1)?.children.push(element);
    open.push(element);
  };
  parser.onclosetag = () => void open.pop();
  const addText = (more: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += more;
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  parser.ontext = addText;
  parser.oncdata = addText;
  try {
    parser.write(text).close();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { failure: error.message };
  }
  return root === undefined ? { failure: 'The body is not well-formed XML.' } : { root };
}

function counted(nodes: number): number {
  if (nodes === MAX_NODES)
    throw new Unreadable(`The body is XML with more than ${MAX_NODES} elements and attributes.`);
  return nodes + 1;
}

function isUtf8Declared(declaration: string): boolean {
  const encoding = /\bencoding\s*=\s*["']([^"']*)["']/.exec(declaration)?.[1];
  return encoding === undefined || /^(?:utf-?8|us-ascii)$/i.test(encoding);
}

/**
 * The text at the tokens of a pointer: names of elements from the root on, as they are written, prefix included; a number
 * picks one of several siblings of one name; `@name` at the end is an attribute. Of several elements none is picked.
 */
export function readXmlAt(root: XmlElement, tokens: readonly string[]): HeaderRead {
  let found: readonly XmlElement[] = [];
  for (const [index, token] of tokens.entries()) {
    const [first] = found;
    if (index === 0) {
      found = root.name === token ? [root] : [];
    } else if (/^(?:0|[1-9]\d{0,8})$/.test(token)) {
      found = found.slice(Number(token)).slice(0, 1); // no name begins with a digit
    } else if (first === undefined) {
      return { kind: 'missing' };
    } else if (found.length > 1) {
      return { kind: 'repeated' };
    } else if (token.startsWith('@')) {
      return index === tokens.length - 1 ? attributeOf(first, token.slice(1)) : { kind: 'missing' };
    } else {
      found = first.children.filter(({ name }) => name === token);
    }
  }
  const [element] = found;
  if (element === undefined || element.children.length > 0) return { kind: 'missing' };
  return found.length === 1 ? { kind: 'one', text: element.text } : { kind: 'repeated' };
}

/** The parser keeps the first of two attributes with one name and says nothing, so they are counted in the tag. */
function attributeOf({ tag, attributes }: XmlElement, name: string): HeaderRead {
  const text = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (typeof text !== 'string') return { kind: 'missing' };
  const names = tag.replaceAll(/"[^"]*"|'[^']*'/g, ' ').split(/[\s=/>]+/);
  return names.slice(1).filter((each) => each === name).length > 1
    ? { kind: 'repeated' }
    : { kind: 'one', text };
}
