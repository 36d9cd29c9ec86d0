import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { newId } from '@breakwater/contracts/ids';
import { PRESET_NAMES } from '@breakwater/contracts/presets/all';
import {
  type Acceptor,
  type AcceptResult,
  createAcceptor,
  type IncomingEvent,
} from '@breakwater/core/accept';
import { createLogger } from '@breakwater/runtime/logger';
import { NOW_MS, SAMPLES, sourceOf } from '../../../packages/signatures/test/preset-samples.ts';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Answer, call, codeOf, type Rig, startIngest } from './support.ts';

/* Each preset over HTTP and through the real accept step: what its own tests say of the parts holds for the whole. */

type Preset = (typeof PRESET_NAMES)[number];

let acceptor: Acceptor;
let rig: Rig;
let nowMs = NOW_MS;
beforeAll(async () => {
  acceptor = createAcceptor({
    redisUrl: sharedRedisUrl(),
    keyPrefix: `t${newId()}`,
    durability: 'strict',
    ingest: BreakwaterConfig.parse({}).ingest,
    logger: createLogger({ service: 'test', level: 'silent' }),
  });
  await waitUntil(() => acceptor.notReady().length === 0, { what: 'the acceptor to be ready' });
  const sources = Object.fromEntries(
    PRESET_NAMES.flatMap((name) => [
      [name, sourceOf(name)],
      [`${name}-2`, sourceOf(name)],
      [`${name}-acme`, sourceOf(name, { operator: 'acme' })],
    ]),
  );
  rig = await startIngest(sources, { accept, now: () => nowMs });
});
afterAll(async () => {
  await rig.close();
  await acceptor.close();
});

function deliver(
  preset: Preset,
  source: string = preset,
  changes: Record<string, string> = {},
): Promise<Answer> {
  const { body, headers, query } = SAMPLES[preset];
  return call(rig.port, {
    path: `/webhooks/${source}${query === undefined ? '' : `?${query}`}`,
    headers: { ...headers(body), ...changes },
    body,
  });
}

/** What became of every event of a source. */
const results = new Map<string, string[]>();
async function accept(event: IncomingEvent): Promise<AcceptResult> {
  const result = await acceptor.accept(event);
  results.set(event.source, [...(results.get(event.source) ?? []), result.kind]);
  return result;
}
const counted = (source: string, kind: AcceptResult['kind'], items = 1): number =>
  (results.get(source) ?? []).filter((each) => each === kind).length / items;

describe.each(PRESET_NAMES)('%s', (preset) => {
  const sample = SAMPLES[preset];

  test('takes each event once per source and operator, however many copies come at once', async () => {
    for (const source of [preset, `${preset}-2`, `${preset}-acme`]) {
      const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(preset, source)));
      expect([source, answers.filter(({ status }) => status >= 300)]).toEqual([source, []]);
      expect([source, counted(source, 'accepted', sample.ids.length)]).toEqual([source, 1]);
      expect([source, counted(source, 'duplicate', sample.ids.length)]).toEqual([source, 4]);
    }
  });

  test('refuses the same request an hour early or late where its time is signed, and says so', async () => {
    try {
      for (const [ms, side] of [
        [-3_600_000, 'far in the future'],
        [(sample.timed === 'for days' ? 100 : 1) * 3_600_000, 'old'],
      ] as const) {
        nowMs = NOW_MS + ms;
        const answer = await deliver(preset);
        const isRefused = answer.status >= 400;
        expect([preset, isRefused]).toEqual([preset, sample.timed !== undefined]);
        expect(answer.text === '' || !isRefused || codeOf(answer) === 'timestamp_out_of_tolerance').toBe(
          true,
        );
        expect(answer.text === '' || !isRefused || answer.text.includes(`too ${side}`)).toBe(true);
      }
    } finally {
      nowMs = NOW_MS;
    }
    expect(counted(preset, 'accepted', sample.ids.length)).toBe(1);
  });
});

/** Presets whose id is in a header that nobody signs, with that header. */
const UNSIGNED = PRESET_NAMES.flatMap((name): [Preset, string][] => {
  const { eventId, replayKey } = sourceOf(name);
  const [first] = eventId;
  return replayKey !== 'none' && first !== undefined && 'header' in first ? [[name, first.header]] : [];
});

test('the presets with unsigned ids are known here', () => {
  expect(UNSIGNED.map(([name]) => name)).toEqual(['github', 'linear', 'razorpay', 'shopify', 'zendesk']);
});

test.each(UNSIGNED)(
  '%s: a captured request under another id is the event that it was',
  async (preset, header) => {
    const source = `${preset}-2`;
    const [id] = SAMPLES[preset].ids;
    await deliver(preset, source);
    const before = counted(source, 'accepted');
    for (const other of ['another-id', 'and-another']) {
      const answer = await deliver(preset, source, { [header]: other });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        200,
        { ok: true, eventId: id, deduped: true },
      ]);
    }
    expect([counted(source, 'accepted'), counted(source, 'replayed')]).toEqual([before, 2]);
  },
);
