import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { testUnless } from '../../../test/support/test-unless.ts';
import { createRig, destination, type Rig } from './support.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

const WHY = ['--reason', 'the test asks'];
interface Case {
  readonly args: readonly string[];
  /** What the person is told before the answer. */
  readonly asks: RegExp;
  /** What must not have happened without a yes. */
  readonly done: () => Promise<boolean>;
}

const statusOf = (id: string): Promise<string | null> => rig.redis.hget(rig.keys.delivery(id), 'status');

const CASES: Readonly<Record<string, () => Promise<Case>>> = {
  'dead-letters resolve': async () => {
    const id = await rig.deadLetter('evt_1');
    return {
      args: ['dead-letters', 'resolve', id, ...WHY],
      asks: /event evt_1 of shop/,
      done: async () => (await statusOf(id)) === 'resolved',
    };
  },
  'dead-letters replay': async () => {
    await rig.deadLetter('evt_1');
    await rig.deadLetter('evt_2');
    return {
      args: ['dead-letters', 'replay', '--all', '--detach', ...WHY],
      asks: new RegExp(`Replay 2 deliveries to ${destination('endpoint')}, in about`),
      done: async () => (await rig.redis.zcard(rig.keys.replayRuns('default'))) === 1,
    };
  },
  'deliveries expunge': async () => {
    const id = await rig.deadLetter('evt_1');
    await rig.redis.hset(rig.keys.sample(id), { attempt: 1, contentType: '', text: 'x', truncated: '0' });
    return {
      args: ['deliveries', 'expunge', id, ...WHY],
      asks: /stored answers of 1 delivery\?/,
      done: async () => (await rig.redis.exists(rig.keys.sample(id))) === 0,
    };
  },
  'endpoints remove': async () => {
    const made = await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/hook', '--json']);
    const { id } = made.json();
    await rig.recordEvent('evt_open', [id]);
    return {
      args: ['endpoints', 'remove', id, ...WHY],
      asks: /1 delivery would be dead-lettered/,
      done: async () => (await rig.redis.sismember(rig.keys.endpoints('default'), id)) === 0,
    };
  },
  'tokens revoke': async () => {
    const made = await rig.cli(['tokens', 'create', '--name', 'night', '--scope', 'read', '--json']);
    const { id } = made.json();
    const list = async () => (await rig.cli(['tokens', 'list', '--json'])).json();
    return {
      args: ['tokens', 'revoke', id, ...WHY],
      asks: /Revoke tok_\w+ \(night, read\)\?/,
      done: async () => (await list()).tokens[0].state === 'revoked',
    };
  },
  'breaker open': async () => ({
    args: ['breaker', 'open', 'receipts', ...WHY],
    asks: /Stop posting to receipts, of every operator/,
    done: async () => (await rig.redis.hget(rig.keys.gate(destination('erp')), 'forced')) === '1',
  }),
};

test.each(Object.keys(CASES))(
  '%s asks the person at a terminal, and does nothing without a yes',
  async (name) => {
    const { args, asks, done } = await CASES[name]!();
    for (const stdin of ['n\n', '\n', 'yesterday\n', '']) {
      const { code, stderr, stdout } = await rig.cli(args, { attended: true, stdin });
      expect([stdin, code, stdout, await done()]).toEqual([stdin, 4, '', false]);
      expect(stderr).toMatch(asks);
      expect(stderr).toContain('Nothing was changed.');
    }
    const { code, stderr } = await rig.cli(args, { attended: true, stdin: 'y\n' });
    expect([code, await done()]).toEqual([name === 'dead-letters replay' ? code : 0, true]);
    expect(stderr).toContain('[y/N]');
  },
);

test.each(Object.keys(CASES))(
  '%s asks nobody in a script, nor with --yes, nor for a dry run',
  async (name) => {
    const { args, done } = await CASES[name]!();
    const rehearsed = await rig.cli([...args, '--dry-run'], { attended: true });
    expect([rehearsed.code, rehearsed.stderr.includes('[y/N]'), await done()]).toEqual([0, false, false]);
    const waiting = new Readable({ read: () => undefined }); // whoever reads it waits for ever
    const { stderr } = await rig.cli([...args, '--yes'], { attended: true, stdin: waiting });
    expect([stderr.includes('[y/N]'), await done()]).toEqual([false, true]);
  },
);

test('a script is not asked, whatever it is fed', async () => {
  const { args, done } = await CASES['dead-letters resolve']!();
  const { code, stderr } = await rig.cli(args, { stdin: 'n\n' });
  expect([code, stderr, await done()]).toEqual([0, '', true]);
});

test('Ctrl-C instead of an answer changes nothing', async () => {
  const { args, done } = await CASES['tokens revoke']!();
  const stopping = new AbortController();
  const stdin = new Readable({ read: () => undefined });
  const running = rig.cli(args, { attended: true, stdin, signal: stopping.signal });
  setTimeout(() => stopping.abort(), 500);
  const { code, stderr } = await running;
  expect([code, await done()]).toEqual([4, false]);
  expect(stderr).toContain('Nothing was changed.');
});

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;
const missing = await new Promise<string | undefined>((resolve) =>
  execFile('script', ['--version'], (error) =>
    resolve(error ? 'script is missing: sudo apt-get install bsdutils' : undefined),
  ),
);

const testHere = testUnless(missing);
testHere(
  'at a real terminal the question is asked there, and the answer typed there counts',
  async () => {
    const { args, done } = await CASES['breaker open']!();
    const command = [process.execPath, MAIN, ...args].map((each) => `'${each}'`).join(' ');
    for (const [answer, expected] of [
      ['n', false],
      ['y', true],
    ] as const) {
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        env: { ...process.env, ...rig.env },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      let shown = '';
      child.stdout.on('data', (chunk: Buffer) => {
        const before = shown.includes('[y/N]');
        shown += chunk.toString();
        if (!before && shown.includes('[y/N]')) child.stdin.write(`${answer}\n`);
      });
      const [code] = await once(child, 'exit');
      expect([answer, code, await done()]).toEqual([answer, expected ? 0 : 4, expected]);
    }
  },
  60_000,
);
