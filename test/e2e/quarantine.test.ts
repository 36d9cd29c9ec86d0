import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

interface Listed {
  entries: { id: string; code: string; sizeBytes: number }[];
}

const DEMO = readFileSync(join(import.meta.dirname, '../../breakwater.config.yaml'), 'utf8');
const SECRET = '${DEMO_WEBHOOK_SECRET:-demo-webhook-secret}';

let rig: Rig;
beforeAll(async () => {
  const config = DEMO.replace(SECRET, 'a-secret-typed-wrongly');
  if (config === DEMO) throw new Error('the demonstration has another secret');
  rig = await startRig({ config, services: ['ingest', 'dispatcher', 'erp-consumer'] });
}, 60_000);
afterAll(() => rig.close(), 60_000);

const list = () => rig.json<Listed>('quarantine', 'list');

test('what a wrong secret refused is posted exactly once after the secret was corrected', async () => {
  const event = orderPaid('evt-quarantined');
  expect((await rig.send(event)).status).toBe(401);
  const [entry] = await waitUntil(async () => (await list()).entries, { what: 'the refusal to be kept' });
  const counted =
    /^breakwater_quarantined_requests_total\{source="demo-payments",reason="signature_invalid"\} 1$/m;
  await waitUntil(async () => counted.test(await (await fetch(`${rig.opsUrl('ingest')}/metrics`)).text()), {
    what: 'the kept request to be counted',
  });
  expect(entry).toMatchObject({ code: 'signature_invalid', sizeBytes: JSON.stringify(event).length });
  const id = entry!.id;
  const listed = await rig.cli('quarantine', 'list', '--json');
  expect(listed.stdout).not.toMatch(/sha256=|evt-quarantined/);

  expect((await rig.cli('quarantine', 'retry', id)).code).toBe(4);
  expect((await rig.cli('quarantine', 'show', id, '--operator', 'somebody')).code).toBe(3);
  expect((await list()).entries).toHaveLength(1);

  writeFileSync(rig.env['BREAKWATER_CONFIG']!, DEMO);
  expect(await rig.json('quarantine', 'show', id)).toMatchObject({ id, now: { kind: 'accepted' } });
  await rig.json('quarantine', 'retry', id, '--dry-run');
  expect((await list()).entries).toHaveLength(1);
  expect(await rig.json('quarantine', 'retry', '--all', '--reason', 'secret corrected')).toMatchObject({
    results: [{ id, result: { kind: 'accepted', events: [{ eventId: 'evt-quarantined', deduped: false }] } }],
  });
  expect((await list()).entries).toEqual([]);
  expect((await rig.cli('quarantine', 'retry', id)).code).toBe(3);

  // The provider's own repetition meets the same claim.
  await rig.stop('ingest');
  await rig.start('ingest');
  expect(await (await rig.send(event)).json()).toMatchObject({ ok: true, deduped: true });
  await waitUntil(async () => (await rig.stats()).postings > 0, { what: 'the posting' });
  expect(await rig.stats()).toMatchObject({ postings: 1, duplicates: 0 });
}, 90_000);
