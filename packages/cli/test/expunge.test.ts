import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readSample, writeSample } from '@breakwater/store/deliveries';
import { newId } from '@breakwater/contracts/ids';
import { createRig, destination, FAILED, type Rig } from './support.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

const OTHER = 'ep_BBBBBBBBBBBBBBBBBBBBBB';
const SAMPLE = { contentType: 'text/plain', text: 'private', truncated: false };

/** A dead letter whose last answer is stored. */
async function answered(eventId: string, to?: string, operator?: string): Promise<string> {
  const id = await rig.deadLetter(eventId, to, operator);
  await writeSample(rig.redis, rig.keys, id, 1, SAMPLE);
  return id;
}

const isStored = async (id: string): Promise<boolean> =>
  (await readSample(rig.redis, rig.keys, id)) !== undefined;
const REASON = ['--reason', 'holds a name'];

test('expunge removes the stored answer and nothing else, and the audit log knows who, why and what', async () => {
  const id = await answered('evt_1');
  const kept = await answered('evt_2');
  const before = (await rig.cli(['deliveries', 'show', id, '--json'])).json();
  const { code, json } = await rig.cli(['deliveries', 'expunge', id, ...REASON, '--json']);
  expect(code).toBe(0);
  expect(json()).toEqual({
    ok: true,
    expunged: 1,
    deliveries: [id],
    inFlight: [],
    without: 0,
    stopped: false,
  });
  const after = (await rig.cli(['deliveries', 'show', id, '--json'])).json();
  expect(after).toEqual({ ...before, sample: null });
  expect(await isStored(kept)).toBe(true);
  expect(await rig.audit()).toEqual([
    {
      action: 'delivery.expunge',
      operator: 'default',
      actor: 'cli:tess',
      reason: 'holds a name',
      deliveries: id,
    },
  ]);
});

test('--dry-run says what would go and removes nothing', async () => {
  const id = await answered('evt_1');
  const { code, stdout } = await rig.cli(['deliveries', 'expunge', id, ...REASON, '--dry-run']);
  expect(code).toBe(0);
  expect(stdout).toContain('1 stored answer would be removed. Nothing was changed.');
  expect(await isStored(id)).toBe(true);
  expect(await rig.audit()).toEqual([]);
});

test('--all with filters removes what passes all of them', async () => {
  const here = await answered('evt_1');
  const there = await answered('evt_2', OTHER);
  const foreign = await answered('evt_3', destination('endpoint'), 'acme');
  const [otherwise = ''] = await rig.recordEvent('evt_4', [destination('endpoint')]);
  await rig.attempt(otherwise, { ...FAILED, class: 'http_4xx' });
  await writeSample(rig.redis, rig.keys, otherwise, 1, SAMPLE);
  const expunge = async (...filters: string[]) =>
    (await rig.cli(['deliveries', 'expunge', '--all', ...filters, ...REASON, '--json'])).json();

  expect(await expunge('--endpoint', destination('endpoint'), '--class', 'http_5xx')).toMatchObject({
    deliveries: [here],
  });
  expect(await expunge('--status', 'sent')).toMatchObject({ expunged: 0 });
  expect((await rig.audit()).length).toBe(1); // what removes nothing is no entry
  expect(new Set((await expunge()).deliveries)).toEqual(new Set([there, otherwise]));
  expect(await isStored(foreign)).toBe(true);
});

test('a whole endpoint is expunged, however many deliveries it has, with a few audit entries', async () => {
  const ids: string[] = [];
  for (let number = 0; number < 450; number += 1) {
    const [id = ''] = await rig.recordEvent(`evt_${number}`, [OTHER]);
    ids.push(id);
    await writeSample(rig.redis, rig.keys, id, 1, SAMPLE);
  }
  const result = await rig.cli(['deliveries', 'expunge', '--all', '--endpoint', OTHER, ...REASON, '--json']);
  expect(result.json()).toMatchObject({ expunged: 450, without: 0 });
  expect((await Promise.all(ids.map(isStored))).some(Boolean)).toBe(false);
  const named = (await rig.audit()).flatMap(({ deliveries = '' }) => deliveries.split(' '));
  expect(new Set(named)).toEqual(new Set(ids));
  expect(named).toHaveLength(450);
  expect((await rig.audit()).length).toBe(3);
}, 30_000);

test("an unknown delivery, or another operator's, ends the command before anything is removed", async () => {
  const id = await answered('evt_1');
  const foreign = await answered('evt_2', destination('endpoint'), 'acme');
  for (const unknown of [foreign, `${newId()}.${OTHER}`]) {
    const { code, stderr } = await rig.cli(['deliveries', 'expunge', id, unknown, ...REASON]);
    expect(code).toBe(3);
    expect(stderr).toContain(unknown);
  }
  expect(await isStored(id)).toBe(true);
  expect(await isStored(foreign)).toBe(true);
});

test('an attempt in flight is told, since its answer may be stored after this', async () => {
  const [id = ''] = await rig.recordEvent('evt_1', [destination('endpoint')]);
  const seq = await rig.redis.hget(rig.keys.delivery(id), 'seq');
  await rig.transitions.beginAttempt(id, `${id}-${seq}`, newId());
  const { json } = await rig.cli(['deliveries', 'expunge', id, ...REASON, '--json']);
  expect(json()).toMatchObject({ expunged: 0, without: 1, inFlight: [id] });
  expect((await rig.cli(['deliveries', 'expunge', id, ...REASON])).stdout).toContain(`again then): ${id}`);
});

test.each([
  [[], 'Name the deliveries, or say --all.'],
  [['a.ep_x', '--all'], 'not both'],
  [['a.ep_x', '--class', 'http_5xx'], 'Filters choose among all deliveries'],
  [['--all', '--class', 'nonsense'], 'Allowed choices are'],
  [['--all', '--endpoint', 'ep_missing'], 'No endpoint ep_missing'],
])('%j is refused', async (args, message) => {
  const { code, stderr } = await rig.cli(['deliveries', 'expunge', ...args, ...REASON]);
  expect([2, 3]).toContain(code);
  expect(stderr).toContain(message);
});

test('a reason is needed, and blanks are none', async () => {
  expect((await rig.cli(['deliveries', 'expunge', '--all'])).code).toBe(2);
  expect((await rig.cli(['deliveries', 'expunge', '--all', '--reason', ' '])).code).toBe(2);
});
