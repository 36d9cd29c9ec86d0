import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../../test/support/free-port.ts';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { CONFIG, createRig } from './support.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly says: string;
  readonly remedy: string;
}

async function erp(): Promise<string> {
  const server = createServer((_request, response) => response.end());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => void server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs doctor beside a deployment whose services are not on their usual ports. */
async function diagnose(config: string, redisUrl?: string, ...args: string[]) {
  const rig = await createRig(config, redisUrl);
  closers.push(() => rig.close());
  const offset = String((await freePort()) - 9_100);
  const run = async (env: NodeJS.ProcessEnv = {}) => {
    const { code, stdout, json } = await rig.cli(['doctor', '--json', ...args], {
      env: { PORT_OFFSET: offset, ...env },
    });
    expect(stdout).not.toBe('');
    const findings = json().findings as Finding[];
    return { code, findings, of: (check: string) => findings.find((each) => each.check === check) };
  };
  return { rig, run };
}

const configOf = async (): Promise<string> => CONFIG.replace('http://127.0.0.1:9', await erp());

test('a deployment that is well has no problem, and what does not run here is only mentioned', async () => {
  const { run } = await diagnose(await configOf());
  const { code, findings, of } = await run();
  expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
  expect(code).toBe(0);
  for (const check of [
    'configuration',
    'version',
    'durability',
    'disk',
    'clock',
    'ERP receipts',
    'erp past due',
  ])
    expect([check, of(check)?.level]).toEqual([check, 'ok']);
  expect(of('service dispatcher')).toMatchObject({
    level: 'warning',
    says: expect.stringContaining('nothing answers'),
  });
});

test('--strict makes a warning count', async () => {
  const { run } = await diagnose(await configOf(), undefined, '--strict');
  expect((await run()).code).toBe(1);
});

test('each of these is found, with what to do about it', async () => {
  const own = await startOwnRedis({ overrides: { appendfsync: 'everysec', maxmemory: '0' } });
  closers.push(() => own.close());
  const config = `${CONFIG.replace('http://127.0.0.1:9', `http://127.0.0.1:${await freePort()}`)}adminToken: demo-admin-token\n`;
  const { rig, run } = await diagnose(config, own.url);
  await rig.deadLetter('e1');
  const [waiting = ''] = await rig.recordEvent('e2', ['erp_receipts']);
  await rig.redis.zadd(rig.keys.alarms('erp'), 1, `${waiting}-1`); // nobody has looked since 1970
  await rig.recordEvent('e3', []);
  const { code, of } = await run();
  expect(code).toBe(1);
  const found = {
    durability: ['problem', 'appendfsync is everysec', 'infra/redis/redis.conf'],
    memory: ['warning', 'without a limit', 'maxmemory'],
    'admin token': ['warning', 'demonstration', 'ADMIN_TOKEN'],
    'ERP receipts': ['problem', 'ECONNREFUSED', 'Start the ERP'],
    'erp past due': ['problem', 'the oldest waits', 'erp-consumer'],
    'dead letters': ['warning', '1 of all operators', 'dead-letters list'],
    'unrouted events': ['warning', '1 were wanted', 'events fan-out'],
  };
  for (const [check, [level, says, remedy]] of Object.entries(found))
    expect([check, of(check)]).toEqual([
      check,
      {
        check,
        level,
        says: expect.stringContaining(says ?? ''),
        remedy: expect.stringContaining(remedy ?? ''),
      },
    ]);
  expect((await run({ DURABILITY: 'relaxed' })).of('durability')?.level).toBe('warning');
});

const PUBLIC = ['secrets of demo-payments', 'admin token', 'publish token', 'encryption keys'];

test("each secret of the demonstration's own configuration is warned of, since everybody knows it, and no secret is shown", async () => {
  const { run } = await diagnose(
    readFileSync(new URL('../../../breakwater.config.yaml', import.meta.url), 'utf8'),
  );
  const shipped = await run();
  for (const check of PUBLIC)
    expect([check, shipped.of(check)]).toEqual([
      check,
      expect.objectContaining({ level: 'warning', says: expect.stringContaining('of the demonstration') }),
    ]);
  expect(JSON.stringify(shipped.findings)).not.toMatch(/demo-[a-z]+-(token|secret)|YnJlYWt3/);

  const key = randomBytes(32).toString('base64');
  const own = {
    DEMO_WEBHOOK_SECRET: 'mine',
    ADMIN_TOKEN: 'mine-too',
    PUBLISH_TOKEN: 'my-own',
    ENCRYPTION_KEYS: key,
  };
  const mine = await run(own);
  for (const check of PUBLIC) expect([check, mine.of(check)]).toEqual([check, undefined]);
  const changing = await run({
    ...own,
    ENCRYPTION_KEYS: `${key},YnJlYWt3YXRlci1kZW1vLWtleS1ub3QtYS1zZWNyZXQ=`,
  });
  expect(changing.of('encryption keys')?.remedy).toContain('secrets reencrypt');
});

test('a publish token of the demonstration is found among several, by its name', async () => {
  const token = 'publishTokens: [{ id: billing, value: good }, { id: shop, value: demo-publish-token }]\n';
  const { run } = await diagnose(`${await configOf()}${token}`);
  expect((await run()).of('publish token')?.says).toMatch(/^shop: /);
});

test('without Redis, and with a configuration that is not valid, the other checks go on', async () => {
  const { run } = await diagnose(await configOf());
  const withoutRedis = await run({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
  expect([
    withoutRedis.code,
    withoutRedis.of('Redis')?.level,
    withoutRedis.of('ERP receipts')?.level,
  ]).toEqual([1, 'problem', 'ok']);
  const withoutConfig = await run({ BREAKWATER_CONFIG: '/nowhere.yaml' });
  expect([
    withoutConfig.code,
    withoutConfig.of('configuration')?.level,
    withoutConfig.of('version')?.level,
  ]).toEqual([1, 'problem', 'ok']);
});

test('people read the findings with what to do below each', async () => {
  const rig = await createRig(await configOf());
  closers.push(() => rig.close());
  const offset = String((await freePort()) - 9_100);
  const { stdout } = await rig.cli(['doctor'], { env: { PORT_OFFSET: offset } });
  expect(stdout).toMatch(/^ok +version +Redis \d/m);
  expect(stdout).toMatch(/^WARNING +service ingest +nothing answers at .*\n +Start ingest/m);
  expect(stdout).toMatch(/0 problems, \d+ warnings\./);
});
