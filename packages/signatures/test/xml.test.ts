import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { locateEvents } from '../src/locate.ts';
import { readXml, readXmlAt } from '../src/xml.ts';
import { requestOf, sourceWith } from './support.ts';

const XML = { parse: { format: 'xml' } };
const ENVELOPE = {
  ...XML,
  eventId: {
    concat: [
      { pointer: '/Information/EnvelopeStatus/EnvelopeID' },
      { pointer: '/Information/EnvelopeStatus/Status' },
    ],
  },
  type: { pointer: '/Information/EnvelopeStatus/Status' },
  entity: { pointer: '/Information/EnvelopeStatus/@ref' },
};

function located(changes: Record<string, unknown>, body: string | Buffer): unknown {
  const found = locateEvents(sourceWith(changes), requestOf(body));
  if (!found.ok) return `${found.code}: ${found.message}`;
  return found.events.map(({ document, ...event }) => ({
    ...event,
    bytes: document.bytes.toString('latin1'),
  }));
}

test('id, type and entity are found in XML, whose bytes stay as they came', () => {
  const body =
    '<?xml version="1.0" encoding="utf-8"?>\r\n<Information xmlns="http://x.example"><EnvelopeStatus ref=\'a&amp;b\'>' +
    '<!-- c --><EnvelopeID>e<![CDATA[&1]]></EnvelopeID><Status>Completed</Status></EnvelopeStatus></Information>\n';
  expect(located(ENVELOPE, body)).toEqual([
    { eventId: 'e&1:Completed', type: 'Completed', entity: 'a&b', bytes: body },
  ]);
});

const at = (xml: string, pointer: string): unknown => {
  const read = readXml(xml);
  if ('failure' in read) return read.failure;
  const found = readXmlAt(read.root, pointer.split('/').slice(1));
  return found.kind === 'one' ? { text: found.text } : found.kind;
};

test.each([
  ['text as it is, not trimmed', '<a> x </a>', '/a', { text: ' x ' }],
  ['a name with its prefix', '<n:a xmlns:n="u"><n:b>1</n:b></n:a>', '/n:a/n:b', { text: '1' }],
  ['another root', '<a>1</a>', '/b', 'missing'],
  ['an element with elements is no text', '<a>1<b/></a>', '/a', 'missing'],
  ['an empty element', '<a/>', '/a', { text: '' }],
  ['of two siblings none is picked', '<a><b>1</b><b>2</b></a>', '/a/b', 'repeated'],
  ['nor below two siblings', '<a><b><c>1</c></b><b><c>2</c></b></a>', '/a/b/c', 'repeated'],
  ['but by its number', '<a><b>1</b><c/><b>2</b></a>', '/a/b/1', { text: '2' }],
  ['a number that is not there', '<a><b>1</b></a>', '/a/b/7', 'missing'],
  ['an attribute', '<a id = \'7\' x:id="8"/>', '/a/@id', { text: '7' }],
  ['an attribute that is there twice', '<a id="1" b="id" id="2"/>', '/a/@id', 'repeated'],
  ['a name within another attribute is no second one', '<a id="1" b=" id=2 "/>', '/a/@id', { text: '1' }],
  ['names of prototypes', '<a constructor="1"/>', '/a/@toString', 'missing'],
  ['nothing at an empty pointer', '<a>1</a>', '', 'missing'],
])('%s', (_, xml, pointer, expected) => {
  expect(at(xml, pointer)).toEqual(expected);
});

describe('what is refused', () => {
  const bomb = `<!DOCTYPE a [<!ENTITY x "${'y'.repeat(1_000)}">]><a>${'&x;'.repeat(1_000)}</a>`;
  const laughs =
    '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]><a>&c;</a>';
  test.each([
    ['an entity that expands', bomb, /with a DTD/],
    ['entities of entities', laughs, /with a DTD/],
    ['a DTD by URL', '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a/>', /with a DTD/],
    ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', /with a DTD/],
    ['an entity of HTML', '<a>&nbsp;</a>', /not well-formed/],
    ['depth', '<a>'.repeat(300_000), /deeper than 100 levels/],
    ['elements without number', `<a>${'<b/>'.repeat(200_000)}</a>`, /more than 50000/],
    [
      'attributes without number',
      `<a ${Array.from({ length: 60_000 }, (_, index) => `a${index}="1"`).join(' ')}/>`,
      /more than 50000/,
    ],
    [
      'another encoding',
      '<?xml version="1.0" encoding="ISO-8859-1"?><a>1</a>',
      /another encoding than UTF-8/,
    ],
    [
      'bytes that are no UTF-8',
      Buffer.from([0x3c, 0x61, 0x3e, 0xe4, 0x3c, 0x2f, 0x61, 0x3e]),
      /not valid UTF-8/,
    ],
    ['two roots', '<a/><b/>', /two roots/],
    ['an end that is not there', '<a><b></b>', /not well-formed/],
    ['an end of something else', '<a></b>', /not well-formed/],
    ['JSON', '{"id":1}', /not well-formed/],
    ['nothing', '', /not well-formed/],
  ])('%s', (_, body, message) => {
    const changes = { ...XML, eventId: { pointer: '/a' } };
    expect(located(changes, body)).toMatch(/^body_unparsable: /);
    expect(located(changes, body)).toMatch(message);
    expect(located({ ...changes, onUnparsable: 'accept' }, body)).toMatchObject([{ parked: true }]);
  });

  test('never quotes the payload', () => {
    expect(at('<secret-name>&hidden;', '/a')).toBe('The body is not well-formed XML.');
  });
});

test('whatever comes, reading XML ends in a document or a refusal', () => {
  const token = fc.constantFrom(
    '<a>',
    '</a>',
    '<b c="',
    '"/>',
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '&#x',
    ';',
    '<?',
    '<!',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(token, fc.string())), (parts) => {
      const read = readXml(parts.join(''));
      expect('root' in read || 'failure' in read).toBe(true);
    }),
    { numRuns: 500, seed: 7 },
  );
});

test('a large text costs little: documents in base64 are megabytes', () => {
  expect(at(`<a><b>${'A'.repeat(5_000_000)}</b><id>7</id></a>`, '/a/id')).toEqual({ text: '7' });
});
