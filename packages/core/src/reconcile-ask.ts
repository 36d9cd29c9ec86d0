import type { Finding } from '@breakwater/contracts/reconciliation';
import { parseDeliveryId } from '@breakwater/contracts/ids';
import type { FindResult } from '@breakwater/erp/adapter';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import { AppError } from '@breakwater/runtime/errors';
import { pause } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import { readEvent } from '@breakwater/store/events';
import type { Keyspace } from '@breakwater/store/keys';
import type { Suspect } from '@breakwater/store/reconcile-page';
import { contentOf } from './event-content.ts';
import { classify, type Judgement, postedTwice, referenceOf } from './reconcile-classify.ts';

/** Asks the ERP about single references. */
export interface Asker {
  /** Documents of an event at the ERP; undefined where the adapter cannot look one up. Throws AppError unavailable. */
  readonly receiptsOf: (delivery: string, reference: string) => Promise<readonly string[] | undefined>;
  /** What the ERP says about what the records say: the finding that is left, if one is. Throws AppError unavailable. */
  readonly confirm: (
    suspect: Suspect,
    finding: Finding | undefined,
    judgement: Judgement,
  ) => Promise<Finding | undefined>;
  /** How many questions were asked since this was called last. */
  readonly take: () => number;
}

interface AskDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly config: { readonly reconciliation: { readonly lookupsPerSecond: number } };
}

/** A busy ERP must not notice a reconciliation, so its questions keep to a rate. */
export function createAsker(deps: AskDeps, target: ReadyErpTarget, signal: AbortSignal | undefined): Asker {
  const everyMs = 1_000 / deps.config.reconciliation.lookupsPerSecond;
  let asked = 0;
  let freeAt = 0;
  const receiptsOf: Asker['receiptsOf'] = async (delivery, reference) => {
    const find = target.adapter.find?.bind(target.adapter);
    const event = await readEvent(deps.redis, deps.keys, parseDeliveryId(delivery)?.event ?? '');
    if (!find || !event) return undefined;
    await pause(Math.max(0, freeAt - performance.now()), signal);
    signal?.throwIfAborted();
    freeAt = performance.now() + everyMs;
    asked += 1;
    const { mappingInput } = contentOf(event);
    const document = await target.mapping.document(mappingInput, reference);
    const said = await find(reference, mappingInput, document.ok ? document.value : undefined, signal);
    // A question that was broken off by us is not an ERP that did not answer.
    signal?.throwIfAborted();
    return receiptsIn(said);
  };
  return {
    receiptsOf,
    async confirm(suspect, finding, judgement) {
      const listed = judgement.listedAt !== undefined;
      // Two documents that are there were listed, and told then; else one was cancelled, and the rest is judged as ever.
      if (listed && finding?.why === 'two_answers' && suspect.record)
        return classify({ ...suspect, record: { ...suspect.record, created: 1 } }, judgement);
      const isPosted = suspect.record?.status === 'sent' && finding?.why !== 'no_posting';
      if (listed ? finding?.why !== 'not_at_erp' : !isPosted) return finding;
      const receipts = await receiptsOf(suspect.delivery, referenceOf(suspect));
      if (receipts === undefined) return finding;
      if (receipts.length > 1) return postedTwice(suspect, judgement, receipts);
      if (receipts.length === 1) return undefined;
      return classify(
        { ...suspect, document: undefined },
        { ...judgement, listedAt: judgement.listedAt ?? judgement.now },
      );
    },
    take() {
      const count = asked;
      asked = 0;
      return count;
    },
  };
}

/** A draft is no document, and another event's is none of this one. */
function receiptsIn(answer: FindResult): readonly string[] {
  switch (answer.kind) {
    case 'found':
      return answer.belongs ? answer.receipts : [];
    case 'incomplete':
    case 'absent':
      return [];
    case 'failed':
      throw new AppError('unavailable', `The ERP did not say what it holds: ${answer.message}`);
  }
}
