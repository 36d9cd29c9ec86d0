import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

let rig: Rig;
let dir: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'breakwater-backfill-'));
  rig = await startRig();
}, 60_000);
afterEach(async () => {
  await rig.close();
  rmSync(dir, { recursive: true, force: true });
}, 60_000);

const webhook = async (id: string): Promise<unknown> => await (await rig.send(orderPaid(id))).json();

test('an event that comes by webhook and by back-fill, in whichever order, is one posting', async () => {
  const file = join(dir, 'missed.ndjson');
  writeFileSync(
    file,
    ['came-before', 'missed', 'comes-later'].map((id) => `${JSON.stringify(orderPaid(id))}\n`).join(''),
  );
  expect(await webhook('came-before')).toMatchObject({ deduped: false });
  const args = ['backfill', '--source', 'demo-payments', '--file', file, '--reason', 'outage'];
  expect(await rig.json(...args)).toMatchObject({ accepted: 2, deduped: 1, differs: 0, failed: 0 });
  expect(await webhook('comes-later')).toMatchObject({ ok: true, deduped: true });
  await waitUntil(async () => (await rig.stats()).postings >= 3, {
    what: 'all three postings',
    timeoutMs: 60_000,
  });
  // Once more when all is done: what is finished is remembered as well.
  expect(await rig.json(...args)).toMatchObject({ accepted: 0, deduped: 3 });
  expect(await webhook('missed')).toMatchObject({ deduped: true });
  const open = async (): Promise<number> =>
    (
      await rig.json<{ deliveries: { status: string }[] }>('deliveries', 'list', '--target', 'receipts')
    ).deliveries.filter(({ status }) => status !== 'sent').length;
  await waitUntil(async () => (await open()) === 0, {
    what: 'nothing to be open',
    timeoutMs: 30_000,
    intervalMs: 500,
  });
  expect(await rig.stats()).toEqual({ postings: 3, distinctReferences: 3, duplicates: 0 });
}, 120_000);
