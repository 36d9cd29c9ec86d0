import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createRig, destination, type Rig } from './support.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

test('a breaker that was opened by hand lets no attempt through until it is closed by hand', async () => {
  expect(
    (await rig.cli(['breaker', 'open', 'receipts', '--reason', 'ERP upgrade', '--json'])).json(),
  ).toMatchObject({ changed: true, state: 'open', forced: true });
  const [id = ''] = await rig.recordEvent('evt_1', [destination('erp')]);
  expect(await rig.transitions.beginAttempt(id, `${id}-1`, 't1')).toEqual({ kind: 'parked', why: 'breaker' });
  expect((await rig.cli(['breaker', 'show', 'receipts', '--json'])).json()).toMatchObject({
    target: 'receipts',
    state: 'open',
    forced: true,
    waiting: 1,
  });
  expect((await rig.cli(['breaker', 'show'])).stdout).toMatch(/^receipts +open, by hand/m);

  expect((await rig.cli(['breaker', 'close', 'receipts', '--json'])).json()).toMatchObject({
    changed: true,
    state: 'closed',
    forced: false,
  });
  expect((await rig.transitions.beginAttempt(id, `${id}-2`, 't2')).kind).toBe('go');
  expect(await rig.audit()).toEqual([
    expect.objectContaining({
      action: 'destination.breaker-open',
      destination: 'erp_receipts',
      actor: 'cli:tess',
      reason: 'ERP upgrade',
    }),
    expect.objectContaining({ action: 'destination.breaker-close', actor: 'cli:tess' }),
  ]);
});

test('closing a closed breaker does nothing: its ramp would throttle a target that works', async () => {
  expect((await rig.cli(['breaker', 'close', 'receipts', '--json'])).json()).toMatchObject({
    changed: false,
    state: 'closed',
  });
  expect(await rig.redis.exists(rig.keys.gate(destination('erp')))).toBe(0);
});

test('a dry run opens nothing', async () => {
  expect((await rig.cli(['breaker', 'open', 'receipts', '--dry-run', '--json'])).json()).toMatchObject({
    dryRun: true,
    changed: true,
    state: 'closed',
  });
  expect(await rig.redis.exists(rig.keys.gate(destination('erp')))).toBe(0);
});

test('a target that is not configured is not found, also when it is called constructor', async () => {
  for (const name of ['nobody', 'constructor']) {
    for (const command of ['show', 'open', 'close'])
      expect((await rig.cli(['breaker', command, name])).code).toBe(3);
  }
});
