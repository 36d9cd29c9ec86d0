import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { freePort } from '../../../test/support/free-port.ts';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Attack, attacks } from './hostile-requests.ts';
import { deliver, SECRET, SIGNATURE } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/**
 * Lets the test ask for a collection, or it would measure what is about to go. A whole one: given any argument, such as the name
 * of the signal, gc() collects the young generation alone, and bodies that had survived two of those stayed until V8 liked.
 */
const COLLECT = "data:text/javascript,process.on('SIGUSR2', () => globalThis.gc())";
const TOKEN = 'a-publish-token-for-tests';
const AUTH = `{ kind: signature, algorithm: hmac-sha256, signature: { header: ${SIGNATURE}, prefix: sha256=, encoding: hex } }`;
const SECRETS = `secrets: [{ id: first, value: ${SECRET} }]`;
const CONFIG = `
sources:
  demo: { ${SECRETS}, auth: ${AUTH}, eventId: { pointer: /id } }
  packed: { ${SECRETS}, auth: ${AUTH}, eventId: { pointer: /id }, request: { encodings: [gzip], signedBytes: decoded } }
  sealed: { ${SECRETS}, auth: ${AUTH}, eventId: { pointer: /id }, request: { encodings: [gzip], signedBytes: received } }
  items: { preset: adyen, secrets: [{ id: first, value: "44782DEF547AAA06" }] }
publishToken: ${TOKEN}
`;

let directory: string;
let child: ChildProcess;
let output = '';
let [port, opsPort] = [0, 0];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ingest-hostile-'));
  const config = join(directory, 'breakwater.config.yaml');
  await writeFile(config, CONFIG);
  [port, opsPort] = await Promise.all([freePort(), freePort()]);
  child = spawn(process.execPath, ['--expose-gc', '--import', COLLECT, MAIN], {
    env: {
      PATH: process.env['PATH'],
      BREAKWATER_CONFIG: config,
      REDIS_URL: sharedRedisUrl(),
      KEY_PREFIX: `t${newId()}`,
      PORT: String(port),
      OPS_PORT: String(opsPort),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await waitUntil(
    async () => {
      if (child.exitCode !== null) return 'exited';
      return (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).ok && 'ready';
    },
    { what: 'ingest to be ready', timeoutMs: 30_000 },
  );
  if (child.exitCode !== null) throw new Error(output);
}, 40_000);
afterAll(async () => {
  child.kill('SIGKILL');
  await rm(directory, { recursive: true });
});

/** What came back, up to a limit. Ends when the server closes, or has answered and says no more for a while. */
async function attack({ bytes, cut }: Attack): Promise<string> {
  const ended = Promise.withResolvers<void>();
  let answer = '';
  let timer: NodeJS.Timeout | undefined;
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(bytes);
    if (cut) socket.resetAndDestroy();
  });
  const quiet = (ms: number, leave: () => void): void => {
    clearTimeout(timer);
    timer = setTimeout(leave, ms);
  };
  // Many wait for the rest of what will never come. Who ends his half is answered, or closed at once.
  quiet(300, () => {
    socket.end();
    quiet(2_000, () => socket.destroy());
  });
  socket.on('data', (chunk: Buffer) => {
    if (answer.length < 50_000) answer += chunk.toString('latin1');
    quiet(50, () => socket.destroy());
  });
  socket.on('error', () => undefined); // a reset is what many of them deserve
  socket.on('close', () => ended.resolve());
  await ended.promise;
  clearTimeout(timer);
  return answer;
}

async function storm(list: readonly Attack[]): Promise<Map<string, Set<string>>> {
  const statuses = new Map<string, Set<string>>();
  const all = list.values();
  const work = async (): Promise<void> => {
    for (const each of all) {
      const answer = await attack(each);
      expect(answer).not.toMatch(/\n {4}at |node:|\.ts:\d/);
      const seen = statuses.get(each.kind) ?? new Set();
      for (const [, status = ''] of answer.matchAll(/HTTP\/1\.1 (\d{3})/g)) seen.add(status);
      statuses.set(each.kind, seen);
    }
  };
  await Promise.all(Array.from({ length: 64 }, work));
  return statuses;
}

/** Uploads that have begun and go on no further. */
const drip = async (count: number): Promise<Socket[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const connected = Promise.withResolvers<void>();
      const socket = connect(port, '127.0.0.1', connected.resolve);
      socket.on('error', connected.resolve);
      await connected.promise;
      socket.write(
        index % 2 === 0
          ? 'POST /webhooks/demo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{"id":'
          : 'POST /webhooks/demo HTTP/1.1\r\nHo',
      );
      return socket;
    }),
  );

/** What is left after a collection: open sockets, and MiB. */
async function held(): Promise<{ sockets: number; heap: number; rss: number; external: number }> {
  child.kill('SIGUSR2');
  await fetch(`http://127.0.0.1:${opsPort}/livez`); // by its answer the signal is there
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return {
    sockets: read('nodejs_active_resources{type="TCPSocketWrap"}'),
    heap: read('nodejs_heap_size_used_bytes') / 2 ** 20,
    rss: read('process_resident_memory_bytes') / 2 ** 20,
    external: read('nodejs_external_memory_bytes') / 2 ** 20,
  };
}

/**
 * MiB that memory may grow by, with what is compiled and cached. The bodies of 2,200 requests are some 40, and a leak of them
 * was seen to fail.
 */
const GROWTH = 20;
/** What the test itself keeps open: its questions to the ops port and its two good requests. */
const OWN_SOCKETS = 5;

test('thousands of malformed requests change nothing: no event, no memory, no flood of the log, good requests answered', async () => {
  const before = await held();
  const dripping = await drip(100);
  const first = await storm(attacks(700, 1));
  const second = await storm(attacks(1_500, 2));

  for (const [kind, statuses] of [...first, ...second])
    expect([kind, [...statuses].filter((status) => !/^(?:4\d\d|503|100)$/.test(status))]).toEqual([kind, []]);
  expect([...second.keys()].length).toBeGreaterThan(15);
  for (const [index, id] of ['good-1', 'good-2'].entries()) {
    const answer = await deliver(port, JSON.stringify({ id }));
    expect([index, answer.status, JSON.parse(answer.text)]).toEqual([
      index,
      200,
      { ok: true, eventId: id, deduped: false },
    ]);
  }
  for (const socket of dripping) socket.destroy();

  // However slow the machine is: nobody is connected any more, so whatever is held now is held for nothing.
  await waitUntil(async () => (await held()).sockets <= before.sockets + OWN_SOCKETS, {
    what: 'the sockets of all who attacked to be gone',
    timeoutMs: 60_000,
    intervalMs: 200,
  });
  // A collection leaves the sweeping of buffers to another thread, and the next one counts what that freed.
  await waitUntil(
    async () => {
      const now = await held();
      const grown = [now.heap - before.heap, now.external - before.external];
      return (
        grown.every((each) => each < GROWTH) ||
        Promise.reject(new Error(`grown by ${grown.join(' and ')} MiB`))
      );
    },
    { what: 'memory as before', timeoutMs: 30_000, intervalMs: 200 },
  );
  expect((await held()).rss - before.rss).toBeLessThan(450);

  expect(child.exitCode).toBeNull();
  const lines = output.split('\n');
  expect(lines.length).toBeLessThan(600); // twenty of a kind in a minute
  expect(output).not.toMatch(/\n {4}at |"stack"|"level":(?:50|60)/);
  for (const secret of [SECRET, TOKEN, '44782DEF547AAA06', 'sha256=']) expect(output).not.toContain(secret);
}, 200_000);
