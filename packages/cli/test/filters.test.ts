import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createRig, destination, type Rig } from './support.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

const ENDPOINT = destination('endpoint');
const idsOf = async (...args: string[]): Promise<string[]> =>
  (await rig.cli([...args, '--json'])).json().deliveries.map(({ id }: { id: string }) => id);

const LISTS = [
  ['deliveries', 'list'],
  ['dead-letters', 'list'],
  ['dead-letters', 'replay', '--all', '--reason', 'fixed', '--dry-run'],
  ['dead-letters', 'replay', '--all', '--reason', 'fixed'],
];

test('an endpoint that the operator does not have is not taken for one without deliveries', async () => {
  const { id } = (await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/', '--json'])).json();
  const foreign = (
    await rig.cli(['endpoints', 'add', '--url', 'https://a.example/', '--operator', 'b', '--json'])
  ).json();
  for (const list of LISTS) {
    for (const wrong of ['nope', foreign.id]) {
      const { code, stdout, stderr } = await rig.cli([...list, '--endpoint', wrong]);
      expect({ list, code, stdout }).toEqual({ list, code: 3, stdout: '' });
      expect(stderr).toBe(`error: No endpoint ${wrong} belongs to operator default. It has: ${id}.\n`);
    }
    expect((await rig.cli([...list, '--endpoint', id])).code).toBe(0);
  }
});

test('a target that is not configured is not taken for one without deliveries', async () => {
  for (const list of LISTS) {
    const { code, stdout, stderr } = await rig.cli([...list, '--target', 'nope']);
    expect({ list, code, stdout }).toEqual({ list, code: 3, stdout: '' });
    expect(stderr).toBe('error: No ERP target is called nope. Configured: receipts.\n');
    expect((await rig.cli([...list, '--target', 'receipts'])).code).toBe(0);
  }
});

test('deliveries to an endpoint or target that was removed can still be listed', async () => {
  const [endpoint = '', erp = ''] = await rig.recordEvent('evt_1', [ENDPOINT, 'erp_removed']);
  expect(await idsOf('deliveries', 'list', '--endpoint', ENDPOINT)).toEqual([endpoint]);
  expect(await idsOf('deliveries', 'list', '--target', 'removed')).toEqual([erp]);
  expect((await rig.cli(['deliveries', 'list', '--target', 'removed', '--operator', 'b'])).code).toBe(3);
});

test('without a readable configuration nothing is said about targets that it does not know to be missing', async () => {
  writeFileSync(rig.env.BREAKWATER_CONFIG, 'routes: 7');
  const { code, stdout, stderr } = await rig.cli(['deliveries', 'list', '--target', 'nope']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'No deliveries.\n' });
  expect(stderr).toContain('The configuration cannot be read, so nope may be misspelt');
});

test('a reason or class that does not exist is a mistake on the command line that lists the known ones', async () => {
  for (const args of [
    ['dead-letters', 'list', '--reason-is', 'nope'],
    ['dead-letters', 'list', '--reason', 'nope'],
    ['dead-letters', 'replay', '--all', '--reason', 'fixed', '--reason-is', 'nope'],
  ]) {
    const { code, stderr } = await rig.cli(args);
    expect({ args, code }).toEqual({ args, code: 2 });
    expect(stderr).toContain(
      'Allowed choices are exhausted, gone, rejected, mapping_failed, reference_conflict, unknown_outcome, endpoint_removed, held_expired.',
    );
  }
  const { code, stderr } = await rig.cli([
    'dead-letters',
    'replay',
    '--all',
    '--reason',
    'x',
    '--class',
    'y',
  ]);
  expect(code).toBe(2);
  expect(stderr).toContain('timeout_response');
});

test('list and replay of dead letters call the filter by reason the same; the earlier name goes on working', async () => {
  const id = await rig.deadLetter('evt_1');
  for (const name of ['--reason-is', '--reason']) {
    expect(await idsOf('dead-letters', 'list', name, 'exhausted')).toEqual([id]);
    expect(await idsOf('dead-letters', 'list', name, 'gone')).toEqual([]);
  }
  expect((await rig.cli(['dead-letters', 'list', '--reason', 'gone', '--reason-is', 'exhausted'])).code).toBe(
    2,
  );
  const { stdout } = await rig.cli(['dead-letters', 'list', '--help']);
  expect(stdout).toContain('--reason-is <reason>');
  expect(stdout).not.toContain('--reason <reason>');
});

test('a source that is not configured is told as the cause, when the configuration can be read', async () => {
  const wrong = await rig.cli(['events', 'show', 'nope', 'evt_1']);
  expect(wrong.code).toBe(3);
  expect(wrong.stderr).toBe(
    'error: No source is called nope. Configured: shop; applications publish as api.\n',
  );
  expect((await rig.cli(['events', 'fan-out', '--source', 'nope'])).code).toBe(3);
  for (const source of ['shop', 'api'])
    expect((await rig.cli(['events', 'show', source, 'evt_1'])).stderr).toContain('It was not accepted');
  writeFileSync(rig.env.BREAKWATER_CONFIG, 'routes: 7');
  expect((await rig.cli(['events', 'show', 'nope', 'evt_1'])).stderr).toContain('It was not accepted');
});
