import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { CONFIG, createRig, type CliRun, type Rig } from './support.ts';

const line = (id: string, more = ''): string => `{"id":"${id}","type":"order.paid"${more}}\n`;
const SOURCE = ['backfill', '--source', 'shop'];

function fileOf(rig: Rig, text: string | Buffer): string {
  const path = join(dirname(rig.env.BREAKWATER_CONFIG), 'events.ndjson');
  writeFileSync(path, text);
  return path;
}
const fill = (rig: Rig, text: string | Buffer, ...more: string[]): Promise<CliRun> =>
  rig.cli([...SOURCE, '--file', fileOf(rig, text), '--json', ...more]);

interface Queued {
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
  readonly encoding: string;
}

/** What waits for fan-out, oldest first. */
async function queued({ redis, keys }: Rig): Promise<Queued[]> {
  const ids = (await redis.lrange(keys.waitingEvents, 0, -1)).toReversed();
  const jobs = await Promise.all(ids.map((id) => redis.hget(`${keys.queues}:events:${id}`, 'data')));
  return jobs.map((data) => JSON.parse(data ?? '{}') as Queued);
}

test('missed events are queued byte for byte, once, however often they are in the file and however often it runs', async () => {
  await using rig = await createRig();
  const text = line('a', ', "price": 1.10') + line('b') + line('a', ', "price": 1.10');
  const first = await fill(rig, text);
  expect(first.code).toBe(0);
  expect(first.json()).toMatchObject({
    ok: true,
    entries: 3,
    accepted: 2,
    deduped: 1,
    differs: 0,
    failed: 0,
  });
  const again = await fill(rig, text + line('c'));
  expect(again.json()).toMatchObject({ entries: 4, accepted: 1, deduped: 3 });
  const events = await queued(rig);
  expect(events.map(({ eventId }) => eventId)).toEqual(['a', 'b', 'c']);
  expect(events[0]?.body).toBe('{"id":"a","type":"order.paid", "price": 1.10}');
  expect(await rig.audit()).toEqual([
    expect.objectContaining({ action: 'backfill.begin', actor: 'cli:tess', source: 'shop' }),
    expect.objectContaining({ action: 'backfill.end', accepted: '2', deduped: '1', failed: '0' }),
    expect.objectContaining({ action: 'backfill.begin' }),
    expect.objectContaining({ action: 'backfill.end', accepted: '1', deduped: '3' }),
  ]);
});

test('what is wrong is listed with its line, and the rest is taken', async () => {
  await using rig = await createRig(CONFIG.replace('eventId:', 'maxBodyBytes: 1024\n    eventId:'));
  const text = Buffer.concat([
    Buffer.from(`{"no":"id"}\n\n{"id":\n${line('a')}`),
    Buffer.from('{"id":"long","pad":"'),
    Buffer.alloc(2_000, 'x'),
    Buffer.from(`"}\n${line('b')}`),
  ]);
  const { code, json } = await fill(rig, text);
  expect(code).toBe(4);
  expect(json()).toMatchObject({ ok: false, entries: 5, accepted: 2, failed: 3 });
  expect(json().errors).toEqual([
    { where: 'line 1', message: expect.stringContaining('/id') },
    { where: 'line 3', message: expect.any(String) },
    { where: 'line 5', message: 'The line is longer than 1024 bytes.' },
  ]);
  const shown = await rig.cli([...SOURCE, '--file', '-'], { stdin: '{}\n' });
  expect(shown.code).toBe(4);
  expect(shown.stdout).toContain('line 1: There is no event id');
});

test('Ctrl-C ends it while it waits for a line that nobody writes, and what was read is taken', async () => {
  await using rig = await createRig();
  const stdin = new PassThrough();
  const stop = new AbortController();
  stdin.write(line('a') + line('b'));
  const running = rig.cli([...SOURCE, '--file', '-', '--json'], { stdin, signal: stop.signal });
  await waitUntil(() => stdin.readableLength === 0, { what: 'both lines to be read' });
  stop.abort();
  const result = await running;
  expect(result.code).toBe(1);
  expect(result.json()).toMatchObject({
    entries: 2,
    accepted: 2,
    stopped: { reason: 'stopped', at: 'line 2' },
  });
});

test('a file that cannot be read is told so, as a mistake of the command line', async () => {
  await using rig = await createRig();
  for (const [file, words] of [
    [dirname(rig.env.BREAKWATER_CONFIG), 'is a directory. Give the path of a file.'],
    ['/nowhere/at.all', 'there is no file /nowhere/at.all'],
    [`${rig.env.BREAKWATER_CONFIG}/below`, 'there is no file'],
    ['/proc/self/mem', 'EIO'],
  ] as const) {
    const result = await rig.cli([...SOURCE, '--file', file]);
    expect(result.stderr).toContain(`--file: `);
    expect(result.stderr).toContain(words);
    expect(result.stderr).not.toContain('fault of Breakwater');
    expect(result.stderr).not.toContain('ENO');
    expect(result.code).toBe(2);
  }
});

test('errors without end fill neither the memory nor the screen', async () => {
  await using rig = await createRig();
  const { json, code } = await fill(rig, '{}\n'.repeat(1_000));
  expect(code).toBe(4);
  expect(json().failed).toBe(1_000);
  expect(json().errors).toHaveLength(100);
});

test('a rehearsal queues nothing, writes no audit, and knows what is on record', async () => {
  await using rig = await createRig();
  await rig.recordEvent('a', []);
  const { code, json } = await fill(rig, line('a') + line('b'), '--dry-run');
  expect(code).toBe(0);
  expect(json()).toMatchObject({ dryRun: true, accepted: 1, deduped: 1 });
  expect(await queued(rig)).toEqual([]);
  expect(await rig.audit()).toEqual([]);
});

test('a line may be a request: an id from a header, a query, a body that is no text', async () => {
  await using rig = await createRig(
    CONFIG.replace('eventId: { pointer: /id }', 'eventId: { header: X-Event-Id }'),
  );
  const requests = [
    { headers: { 'X-Event-Id': 'h1' }, body: '{\n  "pretty": true\n}\n' },
    { headers: { 'x-event-id': 'h2' }, bodyBase64: Buffer.from('{"a":1}').toString('base64') },
    { body: '{}' },
    { headers: {}, text: 'no body' },
  ];
  const text = requests.map((request) => `${JSON.stringify(request)}\n`).join('');
  const { code, json } = await fill(rig, text, '--format', 'request');
  expect(code).toBe(4);
  expect(json()).toMatchObject({ accepted: 2, failed: 2 });
  expect(json().errors.map(({ where }: { where: string }) => where)).toEqual(['line 3', 'line 4']);
  expect((await queued(rig)).map(({ eventId, body }) => [eventId, body])).toEqual([
    ['h1', '{\n  "pretty": true\n}\n'],
    ['h2', '{"a":1}'],
  ]);
});

test('only the types that were asked for are taken', async () => {
  await using rig = await createRig(CONFIG.replace('eventId:', 'type: { pointer: /type }\n    eventId:'));
  const { json } = await fill(rig, `${line('a')}{"id":"b","type":"other"}\n`, '--type', 'order.*');
  expect(json()).toMatchObject({ accepted: 1, skipped: 1 });
  expect((await queued(rig)).map(({ eventId }) => eventId)).toEqual(['a']);
});

test('while too many events wait it waits as well, gives up with the place, and goes on when it is run again', async () => {
  await using rig = await createRig(`${CONFIG}ingest: { maxWaitingEvents: 4 }\n`);
  const text = Array.from({ length: 200 }, (_, nth) => line(`e${nth}`)).join('');
  // Ten at a time: the watch on the backlog looks twice a second.
  const stopped = await fill(rig, text, '--rate', '40/s', '--patience', '1s');
  expect(stopped.code).toBe(1);
  const { accepted, stopped: why } = stopped.json();
  expect(accepted).toBeLessThan(200);
  expect(why).toEqual({
    reason: expect.stringContaining('events wait for fan-out'),
    at: expect.stringMatching(/^line \d+$/),
  });
  const refused = await fill(rig, text);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('events wait for fan-out');
  writeFileSync(rig.env.BREAKWATER_CONFIG, CONFIG); // room again
  const rest = await fill(rig, text);
  expect(rest.json()).toMatchObject({ ok: true, accepted: 200 - accepted, deduped: accepted });
  const ids = (await queued(rig)).map(({ eventId }) => eventId);
  expect(ids).toHaveLength(200);
  expect(new Set(ids).size).toBe(200);
}, 60_000);

test('a backlog that is worked off meanwhile only slows it down', async () => {
  await using rig = await createRig(`${CONFIG}ingest: { maxWaitingEvents: 4 }\n`);
  const text = Array.from({ length: 80 }, (_, nth) => line(`e${nth}`)).join('');
  // Slower than the watch on the backlog looks, so that it is refused in between.
  const dispatcher = setInterval(() => void rig.redis.del(rig.keys.waitingEvents), 2_000);
  try {
    const { code, json } = await fill(rig, text, '--rate', '40/s', '--patience', '30s');
    expect(code).toBe(0);
    expect(json()).toMatchObject({ ok: true, accepted: 80, deduped: 0 });
  } finally {
    clearInterval(dispatcher);
  }
}, 60_000);

test.each([
  [['--source', 'nobody', '--file', '-'], 3, 'no source nobody'],
  [['--source', 'shop'], 2, '--file or --from'],
  [['--source', 'shop', '--file', '-', '--from', 'stripe'], 2, '--file or --from'],
  [['--source', 'shop', '--file', '-', '--since', '6h'], 2, 'belong to --from'],
  [['--source', 'shop', '--file', '/nowhere/events.ndjson'], 2, '/nowhere/events.ndjson'],
  [['--source', 'shop', '--from', 'stripe'], 2, 'STRIPE_API_KEY'],
  [['--source', 'shop', '--from', 'stripe', '--since', 'yesterday'], 2, 'with its zone'],
])('%j is refused with what is missing', async (args, code, words) => {
  await using rig = await createRig();
  const result = await rig.cli(['backfill', ...args]);
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(words);
});

test('a source whose deliveries are each an event of its own cannot be back-filled without doubling', async () => {
  await using rig = await createRig(
    CONFIG.replace('eventId:', 'dedupe: none\n    replayKey: none\n    eventId:'),
  );
  const { code, stderr } = await fill(rig, line('a'));
  expect(code).toBe(2);
  expect(JSON.parse(stderr).error.message).toContain('dedupe: none');
});
