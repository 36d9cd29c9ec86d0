import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { BreakwaterConfig, DEFAULT_SCHEDULE_MS } from '../src/config.ts';

const source = {
  secrets: [{ id: 'a', value: 'secret' }],
  auth: {
    kind: 'signature',
    algorithm: 'hmac-sha256',
    signature: { header: 'X-Signature', encoding: 'hex' },
  },
  eventId: { pointer: '/id' },
};
const target = {
  owner: 'integration',
  adapter: { kind: 'http', baseUrl: 'http://erp.test', post: { path: '"/r"' } },
  document: '{}',
};

function mistakes(config: unknown): string {
  const result = BreakwaterConfig.safeParse(config);
  return result.success ? '' : z.prettifyError(result.error);
}

test('an empty configuration is valid and has the documented defaults', () => {
  const config = BreakwaterConfig.parse({});
  expect(config.deliveries.retrySchedule).toEqual([0, 60_000, 300_000, 900_000, 3_600_000, 21_600_000]);
  expect(config.deliveries.timeout).toBe(5_000);
  expect(config.deliveries.jitter).toBe(0);
  expect(config.ingest.dedupe).toBe(45 * 86_400_000);
  expect(config.ingest.maxMemoryRatio).toBe(0.8);
  expect(config.egress).toEqual({ allowHttp: false, allow: [], deny: [], resolvers: [] });
});

test('the default schedule is a copy: changing one configuration changes no other', () => {
  BreakwaterConfig.parse({}).deliveries.retrySchedule.push(1);
  expect(BreakwaterConfig.parse({}).deliveries.retrySchedule).toEqual([...DEFAULT_SCHEDULE_MS]);
});

test('two sources into one target without a reference that tells them apart are refused', () => {
  const two = {
    sources: { a: source, b: source },
    erpTargets: { erp: target },
    routes: [
      { source: 'a', target: 'erp' },
      { source: 'b', target: 'erp' },
    ],
  };
  expect(mistakes(two)).toMatch(/a and b feed this target.*\n.*at erpTargets\.erp\.reference/);
  expect(mistakes({ ...two, erpTargets: { erp: { ...target, reference: 'source & ":" & eventId' } } })).toBe(
    '',
  );
  expect(
    mistakes({
      ...two,
      routes: [
        { source: 'a', target: 'erp' },
        { source: 'a', types: ['x'], target: 'erp' },
      ],
    }),
  ).toBe('');
  expect(
    mistakes({
      ...two,
      routes: [
        { source: 'a', target: 'erp' },
        { source: 'api', target: 'erp' },
      ],
    }),
  ).toContain('a and api feed this target');
});

test('no provider may be called api, yet routes may name it', () => {
  expect(mistakes({ sources: { api: source } })).toMatch(/api is reserved.*\n.*at sources\.api/);
  expect(mistakes({ erpTargets: { erp: target }, routes: [{ source: 'api', target: 'erp' }] })).toBe('');
});

test('routes to and from nowhere are all named', () => {
  const text = mistakes({
    routes: [
      { source: 'constructor', target: 'toString' },
      { source: 'x', target: 'y' },
    ],
  });
  for (const expected of [
    'no source is called constructor',
    'no ERP target is called toString',
    'no source is called x',
    'no ERP target is called y',
  ])
    expect(text).toContain(expected);
});

test('every mistake in the values is listed at once, with its path', () => {
  const text = mistakes({
    deliveries: { timeout: '31s', maxInFlight: 0, retrySchedule: [] },
    ingest: { dedupe: '1s', maxMemoryRatio: 2 },
    egress: { allow: ['10.0.0.0/40'] },
    sources: {
      'Bad Name': source,
      ok: { ...source, secrets: [{ id: 'a', value: '' }], eventId: { pointer: 'id' } },
    },
    unknownSetting: true,
  });
  for (const path of [
    'deliveries.timeout',
    'deliveries.maxInFlight',
    'deliveries.retrySchedule',
    'ingest.dedupe',
    'ingest.maxMemoryRatio',
    'egress.allow[0]',
    'sources["Bad Name"]',
    'sources.ok.secrets[0].value',
    'sources.ok.eventId',
    'unknownSetting',
  ]) {
    expect(text).toContain(path);
  }
});

test('an encryption key of another length is refused, and its text does not come back', () => {
  const good = Buffer.alloc(32, 1).toString('base64');
  expect(BreakwaterConfig.parse({ encryptionKeys: `${good}, ${good}` }).encryptionKeys).toEqual([good, good]);
  const text = mistakes({ encryptionKeys: `${good},c2hvcnQ=` });
  expect(text).toContain('encryptionKeys[1]');
  expect(text).not.toContain('c2hvcnQ');
});

test('a signature that leaves the body or the timestamp open is refused', () => {
  const withAuth = (auth: object): string =>
    mistakes({ sources: { s: { ...source, auth: { ...source.auth, ...auth } } } });
  expect(withAuth({ signed: ['timestamp'] })).toContain('signed must contain body');
  expect(withAuth({ signed: ['timestamp', 'body'] })).toContain('say where the timestamp is');
  expect(withAuth({ signed: ['body'], timestamp: { header: 't' } })).toContain(
    'a timestamp that is not signed proves nothing',
  );
  expect(withAuth({ signed: ['timestamp', { literal: '.' }, 'body'], timestamp: { header: 't' } })).toBe('');
});

test('an event id from a header counts as signed only where that header is', () => {
  const parse = (eventId: object, signed: unknown[]) =>
    BreakwaterConfig.parse({ sources: { s: { ...source, eventId, auth: { ...source.auth, signed } } } })
      .sources['s']?.eventIdSigned;
  expect(parse({ pointer: '/id' }, ['body'])).toBe(true);
  expect(parse({ header: 'X-Id' }, ['body'])).toBe(false);
  expect(parse({ header: 'X-Id' }, [{ header: 'x-id' }, 'body'])).toBe(true);
  expect(parse([{ pointer: '/id' }, { header: 'x-id' }], ['body'])).toBe(false);
});

test('a name of a source is fit for a URL, a metric label and a Redis key', () => {
  for (const name of ['a', 'shop-1', 'a_b', 'x'.repeat(63)])
    expect(mistakes({ sources: { [name]: source } })).toBe('');
  for (const name of ['', 'A', '-a', 'a-', 'a:b', 'a/b', 'a.b', 'ä', 'x'.repeat(64)])
    expect(mistakes({ sources: { [name]: source } })).not.toBe('');
});

test('dedupe for ever is a hundred years', () => {
  expect(BreakwaterConfig.parse({ ingest: { dedupe: 'forever' } }).ingest.dedupe).toBe(36_500 * 86_400_000);
});

test('an id is remembered for as long as its deliveries are retried, or the configuration is refused', () => {
  const text = mistakes({
    ingest: { dedupe: '7h' },
    sources: { shop: { ...source, dedupe: { ttl: '1h' } }, bank: { ...source, dedupe: { ttl: 'forever' } } },
  });
  expect(text).toMatch(/deliveries are retried for 7h 21m.*\n.*ingest.dedupe/);
  expect(text).toContain('sources.shop.dedupe.ttl');
  expect(text).not.toContain('sources.bank');
  const short = { ingest: { dedupe: '5m' }, deliveries: { retrySchedule: ['0s', '1m'] }, retention: '5m' };
  expect(mistakes(short)).toBe('');
});

test('a publish token belongs to one operator, and a mistake never shows it', () => {
  const text = mistakes({
    publishToken: 'single-token',
    publishTokens: [
      { id: 'a', value: 'token-a', operator: 'acme' },
      { id: 'a', value: 'other-token' },
      { id: 'b', value: 'token-a' },
      { id: 'c', value: 'single-token' },
      { id: 'd', value: '' },
      { id: 'e', value: 'two words' },
      { id: 'f', value: 'token-f', operator: 'acme:version' }, // whose lists would be another's counters
    ],
  });
  for (const path of ['[1].id', '[2].value', '[3].value', '[4].value', '[5].value', '[6].operator'])
    expect(text).toContain(`publishTokens${path}`);
  expect(text).not.toMatch(/token-a|single-token|two words/);
  expect(mistakes({ publishToken: '', publishTokens: [{ id: 'a', value: 'x' }] })).toBe('');
});

test('a value of the wrong type does not hide what is wrong elsewhere', () => {
  const text = mistakes({
    deliveries: { maxInFlight: 'many' },
    erpTargets: { endpoint: {} },
    encryptionKeys: 'short',
    routes: [{ source: 'nowhere', target: 'nothing' }, 7],
  });
  for (const expected of [
    'deliveries.maxInFlight',
    'the name endpoint is reserved',
    'encryptionKeys[0]',
    'no source is called nowhere',
    'no ERP target is called nothing',
    'routes[1]',
  ])
    expect(text).toContain(expected);
});

test('a mistake in an expression is told with its place and position, together with the other mistakes of the file', () => {
  const adapter = {
    ...target.adapter,
    post: { path: '"/a" &', receipt: 'answer.[' },
    find: { path: '"/b"', hits: 'answer.(' },
  };
  const told = mistakes({
    deliveries: { timeout: '31s' },
    erpTargets: { erp: { adapter, document: '{', reference: '(' } },
  });
  for (const [place, words] of [
    ['deliveries.timeout', 'expected 1s to 30s'],
    ['erpTargets.erp.owner', 'expected string'],
    ['erpTargets.erp.document', 'no valid JSONata at position 1'],
    ['erpTargets.erp.reference', 'no valid JSONata at position 1'],
    ['erpTargets.erp.adapter.post.path', 'no valid JSONata at position 6'],
    ['erpTargets.erp.adapter.post.receipt', 'no valid JSONata at position 8'],
    ['erpTargets.erp.adapter.find.hits', 'no valid JSONata at position 8'],
  ] as const)
    expect(told).toMatch(new RegExp(`${words}.*\n.*at ${place.replaceAll('.', '\\.')}`));
});

test('an attempt at an ERP that could take longer than a quarter of an hour is refused, and the sentence says why', () => {
  const slow = (auth?: object) => ({
    erpTargets: {
      erp: {
        ...target,
        adapter: {
          ...target.adapter,
          ...(auth && { auth }),
          post: { path: '"/r"', timeout: '10m' },
          find: { path: '"/r"', hits: 'answer', timeout: '150s' },
        },
      },
    },
  });
  expect(mistakes(slow())).toBe('');
  const oauth = { kind: 'oauth2', tokenUrl: 'https://erp.test/token', clientId: 'a', clientSecret: 'b' };
  expect(mistakes(slow(oauth))).toMatch(
    /an attempt may take 15m 20s .*at most 15m is allowed: a process that dies holds/,
  );
});

test('a backoff of a breaker that ends before it begins is refused', () => {
  const breaker = { backoff: { from: '10s', to: '5s' } };
  expect(mistakes({ erpTargets: { erp: { ...target, breaker } } })).toContain('to no shorter than from');
});

test('a client is known by a secret or by an assertion, not by both and not by neither', () => {
  const auth = { kind: 'oauth2', tokenUrl: 'https://erp.test/token', clientId: 'a' };
  const told = mistakes({ erpTargets: { erp: { ...target, adapter: { ...target.adapter, auth } } } });
  expect(told).toContain('expected clientSecret or clientAssertion, one of them');
});

test('a dedupe record may not be forgotten before its event can no longer be replayed', () => {
  expect(BreakwaterConfig.parse({}).retention).toBe(30 * 86_400_000);
  const short = mistakes({ ingest: { dedupe: '10d' } });
  expect(short).toContain('ingest.dedupe');
  expect(short).toContain(
    'dedupe records (10d) must live at least as long as events can be replayed (retention, 30d)',
  );
  expect(mistakes({ ingest: { dedupe: '10d' }, retention: '10d' })).toBe('');
  expect(mistakes({ ingest: { dedupe: 'forever' }, retention: '400d' })).toBe('');
  expect(mistakes({ retention: '46d' })).toContain('ingest.dedupe');
  expect(mistakes({ retention: '10ms' })).toContain('expected at least 1s');
  const own = mistakes({ sources: { shop: { ...source, dedupe: { ttl: '20d' } } } });
  expect(own).toContain('sources.shop.dedupe.ttl');
  expect(own).toContain('dedupe records (20d) must live at least as long');
});

test('egress takes CIDRs and name servers, and says of each mistake where it is', () => {
  const egress = {
    allow: ['10.0.0.0/8', 'fd00::/8'],
    deny: ['10.9.0.0/16'],
    resolvers: ['10.0.0.53', '10.0.0.53:5353', 'fd00::53', '[fd00::53]', '[fd00::53]:5353'],
  };
  expect(mistakes({ egress })).toBe('');
  for (const wrong of [
    'dns.example',
    '10.0.0.53:0',
    '10.0.0.53:65536',
    '10.0.0',
    '[10.0.0.53]:53',
    'fd00::g',
    '',
  ])
    expect(mistakes({ egress: { resolvers: ['10.0.0.53', wrong] } })).toMatch(
      /expected an IP address.*\n.*at egress\.resolvers\[1\]/,
    );
  expect(mistakes({ egress: { deny: ['10.9.0.1'] } })).toMatch(/at egress\.deny\[0\]/);
});

test('patterns to mask are checked, and each mistake says what is wrong and where', () => {
  expect(mistakes({ samples: { redact: ['cust-\\d+', '(?i)"iban":"([^"]*)'] } })).toBe('');
  for (const [wrong, what] of [
    ['(', 'missing'],
    ['(a)\\1', 'no pattern'],
    ['a(?=b)', 'no pattern'],
    ['(?:a{1000}){1000}', 'no pattern'],
    ['a*', 'matches the empty text'],
    ['', 'matches the empty text'],
    ['x'.repeat(201), '200'],
  ] as const) {
    const said = mistakes({ samples: { redact: ['fine', wrong] } });
    expect(said).toContain(what);
    expect(said).toContain('at samples.redact[1]');
  }
});
