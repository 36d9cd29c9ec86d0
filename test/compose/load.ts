import { orderPaid, signedPost } from '../support/webhook.ts';

export interface Load {
  /** Ids that got a 2xx. */
  readonly acknowledged: ReadonlySet<string>;
  /** Answers by status. */
  readonly answers: ReadonlyMap<number, number>;
  /** Resolves when every sender has stopped. */
  readonly stop: () => Promise<void>;
}

/**
 * Sends new events of the demonstration without pause, as a provider does that repeats what is not acknowledged.
 */
export function startLoad(prefix: string, url: string, senders = 2): Load {
  const acknowledged = new Set<string>();
  const answers = new Map<number, number>();
  const done = new AbortController();
  let number = 0;
  const send = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const id = `${prefix}-${(number += 1)}`;
      while (!acknowledged.has(id)) {
        const event = orderPaid(id, { warehouse: `W${number % 10}` });
        const response = await signedPost(`${url}/webhooks/demo-payments`, event).catch(() => undefined);
        await response?.arrayBuffer().catch(() => undefined);
        if (response) answers.set(response.status, (answers.get(response.status) ?? 0) + 1);
        if (response?.ok) acknowledged.add(id);
        else await new Promise((resolve) => setTimeout(resolve, 100));
        if (done.signal.aborted) break;
      }
      // Slow enough for the ERP to keep up on a busy machine: what is looked at is the restarts, not a backlog.
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  };
  const all = Array.from({ length: senders }, send);
  return {
    acknowledged,
    answers,
    async stop() {
      done.abort();
      await Promise.all(all);
    },
  };
}
