import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Fault, FaultyProxy, Passing } from '../../../../test/support/faulty-proxy.ts';
import type { ErpAdapter, FindResult, PostResult } from '../../src/adapter.ts';
import type { MappingInput } from '../../src/mapping.ts';

/** One adapter in front of a real ERP, with the faulty proxy in between. */
export interface World extends AsyncDisposable {
  /** Through the proxy. */
  readonly adapter: ErpAdapter;
  /** Straight to the ERP. */
  readonly direct: ErpAdapter;
  readonly proxy: FaultyProxy;
  /** An adapter through another address, for when nothing listens. */
  readonly through: (url: string) => ErpAdapter;
  readonly document: (reference: string) => { readonly document: unknown; readonly event: MappingInput };
  /** Complete documents under a reference, by the ERP's own records. */
  readonly documents: (reference: string) => Promise<number>;
  /** References that hold more than one document of whatever state, by the ERP's own records. */
  readonly doubles: () => Promise<readonly string[]>;
  /** A proxy that goes away within a test. */
  readonly anotherProxy: () => Promise<FaultyProxy>;
}

export interface Subject {
  readonly name: string;
  readonly start: () => Promise<World>;
  /** The requests that change something, in their order; each of them is hit by every fault. */
  readonly steps: Readonly<Record<string, (request: Passing) => boolean>>;
  readonly isLookUp: (request: Passing) => boolean;
  /** The status of an answer alone says that the document is there. */
  readonly statusDecides: boolean;
  /** Documents after a network delivered a step twice, and nothing in the ERP refuses the second. */
  readonly afterTwice: number;
}

const KEPT: readonly PostResult['kind'][] = ['posted', 'already_posted'];
const NOTHING: readonly PostResult['kind'][] = ['failed', 'rejected', 'withheld', 'reference_conflict'];

/** The promises that every adapter keeps, whatever the network does. */
export function describeConformance(subject: Subject): void {
  describe(`the ${subject.name} adapter`, () => {
    let world: World;
    let reference: string;
    beforeAll(async () => void (world = await subject.start()), 180_000);
    afterAll(async () => await world?.[Symbol.asyncDispose](), 60_000);
    beforeEach(() => {
      reference = `evt ${randomUUID()}`;
      world.proxy.judge = () => undefined;
      world.proxy.resetConnections = false;
    });

    const post = (adapter = world.adapter, signal?: AbortSignal): Promise<PostResult> => {
      const { document, event } = world.document(reference);
      return adapter.post(document, reference, { mayWrite: () => true, ...(signal && { signal }) }, event);
    };
    const find = async (adapter = world.direct): Promise<FindResult> => {
      const { document, event } = world.document(reference);
      const found = await adapter.find?.(reference, event, document);
      if (!found) throw new Error('this adapter cannot look up');
      return found;
    };
    /** What an outcome claims, against the ERP's records; then on as the consumer goes on, until there is the one. */
    const holdsWhatItClaims = async (outcome: PostResult): Promise<void> => {
      world.proxy.judge = () => undefined;
      const claimed = await world.documents(reference);
      if (KEPT.includes(outcome.kind)) expect(claimed).toBe(1);
      else if (NOTHING.includes(outcome.kind)) expect(claimed).toBe(0);
      else expect(claimed).toBeLessThanOrEqual(1);
      const found = await find();
      expect(found.kind === 'found' ? found.receipts.length : 0).toBe(claimed);
      if (found.kind !== 'found') expect(await post(world.direct)).toMatchObject({ kind: 'posted' });
      expect(await find()).toMatchObject({ kind: 'found', belongs: true, receipts: [expect.any(String)] });
      expect(await world.documents(reference)).toBe(1);
    };
    /** Does something to the first request of a step. */
    const once = (isStep: (request: Passing) => boolean, fault: Fault): (() => boolean) => {
      let hit = false;
      world.proxy.judge = (request) => {
        if (hit || !isStep(request)) return undefined;
        hit = true;
        return fault;
      };
      return () => hit;
    };

    test('posts once, finds, and says that it is there', async () => {
      expect(await find(world.adapter)).toEqual({ kind: 'absent' });
      const outcome = await post();
      expect(outcome).toMatchObject({ kind: 'posted', receipt: expect.stringMatching(/./) });
      await holdsWhatItClaims(outcome);
    });

    test('says `failed` when nothing listens, and posts nothing', async () => {
      const proxy = await world.anotherProxy();
      const adapter = world.through(proxy.url);
      await proxy.refuse();
      const outcome = await post(adapter);
      expect(outcome).toMatchObject({ kind: 'failed', class: 'connection_refused' });
      expect(await find(adapter)).toMatchObject({ kind: 'failed', class: 'connection_refused' });
      await holdsWhatItClaims(outcome);
    });

    test('posts nothing when the connection is reset before any byte', async () => {
      world.proxy.resetConnections = true;
      const outcome = await post();
      world.proxy.resetConnections = false;
      expect(['failed', 'unknown']).toContain(outcome.kind);
      expect(await world.documents(reference)).toBe(0);
      await holdsWhatItClaims(outcome);
    });

    test('sends nothing when the lease is over', async () => {
      const { document, event } = world.document(reference);
      const before = world.proxy.forwarded.length;
      const outcome = await world.adapter.post(document, reference, { mayWrite: () => false }, event);
      expect(outcome).toMatchObject({ kind: 'withheld' });
      const writes = world.proxy.forwarded
        .slice(before)
        .filter((request) => Object.values(subject.steps).some((isStep) => isStep(request)));
      expect(writes).toEqual([]);
      await holdsWhatItClaims(outcome);
    });

    const { statusDecides } = subject;
    const twice: string[] = [];
    const unreadable: PostResult['kind'] = statusDecides ? 'posted' : 'unknown';
    const faults: readonly (readonly [string, Fault, PostResult['kind']])[] = [
      ['is reset after its bytes', { kind: 'reset_after_request' }, 'unknown'],
      ['is applied and its answer lost', { kind: 'lost_reply' }, 'unknown'],
      ['gets half of its answer', { kind: 'truncated_reply' }, unreadable],
      ['gets a 502 from a proxy', { kind: 'status', status: 502 }, 'unknown'],
      ['gets garbage for an answer', { kind: 'garbage', what: 'http' }, 'unknown'],
      ['gets a page of HTML for an answer', { kind: 'garbage', what: 'body' }, 'unknown'],
      ['gets its answer in drops', { kind: 'slow_drip', everyMs: 2 }, 'posted'],
      ['gets its answer in drops without end', { kind: 'slow_drip', everyMs: 400 }, unreadable],
    ];
    for (const [step, isStep] of Object.entries(subject.steps)) {
      test.each(faults)(`a ${step} that %s`, async (_name, fault, kind) => {
        const hit = once(isStep, fault);
        const outcome = await post();
        expect(hit()).toBe(true);
        expect(outcome).toMatchObject({ kind });
        await holdsWhatItClaims(outcome);
      });

      test.each(['delayed_reply', 'delayed_request'] as const)(
        `a ${step} whose client gives up before the ERP is done (%s)`,
        async (kind) => {
          const reached = Promise.withResolvers<void>();
          const released = Promise.withResolvers<void>();
          const patience = new AbortController();
          once(
            (request) => {
              if (!isStep(request)) return false;
              reached.resolve();
              return true;
            },
            { kind, until: released.promise },
          );
          const posting = post(world.adapter, patience.signal);
          await reached.promise;
          patience.abort();
          const outcome = await posting;
          expect(outcome).toMatchObject({ kind: 'unknown' });
          released.resolve();
          await world.proxy.idle(); // the settle time
          await holdsWhatItClaims(outcome);
        },
      );

      test(`a ${step} that a network delivers twice`, async () => {
        const hit = once(isStep, { kind: 'delivered_twice' });
        expect(await post()).toMatchObject({ kind: 'posted' });
        expect(hit()).toBe(true);
        expect(await world.documents(reference)).toBe(subject.afterTwice);
        // What could not be prevented is at least told.
        const found = await find();
        expect(found).toMatchObject({ kind: 'found', belongs: true });
        expect(found.kind === 'found' && found.receipts.length).toBe(subject.afterTwice);
        twice.push(reference);
      });
    }

    // The one case that no client can exclude. What it costs is the ERP's: see afterTwice.
    test('a write that was on the wire while its sender was frozen past its lease is at least told', async () => {
      const [isFirst] = Object.values(subject.steps);
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      once(
        (request) => {
          if (isFirst?.(request) !== true) return false;
          reached.resolve();
          return true;
        },
        { kind: 'delayed_request', until: released.promise },
      );
      const { document, event } = world.document(reference);
      let frozen = false;
      const late = world.adapter.post(document, reference, { mayWrite: () => !frozen }, event);
      await reached.promise;
      frozen = true;
      expect(await find()).toEqual({ kind: 'absent' }); // who takes over cannot know
      expect(await post(world.direct)).toMatchObject({ kind: 'posted' });
      released.resolve();
      await late;
      await world.proxy.idle();
      expect(await world.documents(reference)).toBe(subject.afterTwice);
      const found = await find();
      expect(found.kind === 'found' && found.receipts.length).toBe(subject.afterTwice);
      if (subject.afterTwice > 1) twice.push(reference);
      else await post(world.direct); // clears what is left of it
    });

    const endless = faults.filter(([, fault]) => fault.kind !== 'slow_drip' || fault.everyMs > 100);
    test.each(endless)('a look-up that %s is never taken for "there is none"', async (_name, fault) => {
      expect(await post(world.direct)).toMatchObject({ kind: 'posted' });
      // Every time: a look-up may be repeated at once, since it changes nothing.
      world.proxy.judge = (request) => (subject.isLookUp(request) ? fault : undefined);
      expect(await find(world.adapter)).toMatchObject({
        kind: 'failed',
        message: expect.stringMatching(/./),
      });
      world.proxy.judge = () => undefined;
      expect(await find(world.adapter)).toMatchObject({ kind: 'found', belongs: true });
    });

    test('after all this no reference holds more than one document, but those of a network that doubles', async () => {
      expect(await world.doubles()).toEqual(subject.afterTwice > 1 ? twice : []);
    });

    test('lists what it posted, page by page, and nothing that is older', async () => {
      if (!world.adapter.list) throw new Error('this adapter cannot list');
      const since = Date.now() - 1_000;
      expect(await post()).toMatchObject({ kind: 'posted' });
      const listed = await Array.fromAsync(world.adapter.list(since));
      expect(listed.filter((document) => document.reference === reference)).toEqual([
        { reference, documentId: expect.stringMatching(/./), at: expect.any(Number), complete: true },
      ]);
      for (const { at } of listed) expect(at).toBeGreaterThanOrEqual(since);
      expect(await Array.fromAsync(world.adapter.list(Date.now() + 60_000))).toEqual([]);
    });

    test('a list that breaks off is an error, not a shorter list', async () => {
      expect(await post()).toMatchObject({ kind: 'posted' });
      world.proxy.judge = () => ({ kind: 'truncated_reply' });
      await expect(Array.fromAsync(world.adapter.list?.(0) ?? [])).rejects.toMatchObject({
        code: 'unavailable',
      });
    });
  });
}
