import type { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import type { HttpClient } from '@breakwater/http/client';
import type { ErpAdapter, FindResult, PostResult } from './adapter.ts';
import { type Trouble, asRead, isTrouble } from './tryton-answer.ts';
import { createCodes } from './tryton-codes.ts';
import { readHeld } from './tryton-held.ts';
import { countReceipts, listReceipts } from './tryton-list.ts';
import { postReceipt } from './tryton-posting.ts';
import { readReceipt, referenceMistake } from './tryton-receipt.ts';
import { createRpc } from './tryton-rpc.ts';

/**
 * Makes the `tryton` adapter: goods receipts of a Tryton ERP (6.0), over JSON-RPC. The client is shared and not closed
 * here; the session ends by itself at the ERP.
 */
export function createTrytonAdapter(config: TrytonAdapter, client: HttpClient): ErpAdapter {
  const rpc = createRpc(client, config);
  const codes = createCodes(rpc, config.codesCache);
  return {
    async post(document, reference, guard) {
      const deadline = performance.now() + config.post.timeout;
      const receipt = readReceipt(document);
      const mistake = 'mistakes' in receipt ? receipt.mistakes : referenceMistake(reference);
      if ('mistakes' in receipt || mistake !== undefined) return unmapped(mistake ?? '');
      return await postReceipt({ rpc, codes, config, receipt, reference, caller: { deadline, guard } });
    },
    async find(reference, _event, document, signal) {
      const mistake = referenceMistake(reference);
      if (mistake !== undefined) return unmapped(mistake);
      const deadline = performance.now() + config.find.timeout;
      const receipt = readReceipt(document);
      const wanted = 'mistakes' in receipt ? undefined : receipt;
      const held = await readHeld(rpc, reference, wanted, { deadline, signal });
      if (isTrouble(held)) return findFailed(asRead(held));
      if (held.done.length > 0) return found(held.done, true);
      const [begun] = held.begun;
      if (begun) return { kind: 'incomplete', receipt: begun.receipt };
      return held.others.length > 0 ? found(held.others, false) : { kind: 'absent' };
    },
    count: () => countReceipts(rpc, config.find.timeout),
    list: (since, signal) => listReceipts(rpc, config.find.timeout, since, signal),
    close() {}, // the client is the caller's, and there is nothing else
  };
}

const found = (shipments: readonly { readonly receipt: string }[], belongs: boolean): FindResult => ({
  kind: 'found',
  receipts: shipments.map(({ receipt }) => receipt),
  belongs,
});

/** Nothing was sent, and nothing will be until somebody corrects the mapping. */
const unmapped = (message: string): Extract<PostResult & FindResult, { kind: 'failed' }> => ({
  kind: 'failed',
  class: 'mapping',
  code: '',
  message,
});

function findFailed(trouble: Trouble): FindResult {
  const { code, sample } = trouble;
  const told = { code, message: `Look-up: ${trouble.message}`, ...(sample && { sample }) };
  if (trouble.kind !== 'failed') return { kind: 'failed', class: 'lookup_failed', ...told };
  const wait = trouble.retryAfterMs;
  return { kind: 'failed', class: trouble.class, ...told, ...(wait !== undefined && { retryAfterMs: wait }) };
}
