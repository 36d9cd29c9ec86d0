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
 * Sends new events of the demonstration without pause, as a provider does that repeats what is not acknowledged: to any of
 * `urls`, and to another one when a connection fails, as a proxy in front would.
 */
export function startLoad(prefix: string, urls: () => Promise<readonly string[]>, senders = 2): Load {
  const acknowledged = new Set<string>();
  const answers = new Map<number, number>();
  const done = new AbortController();
  let number = 0;
  let known: readonly string[] = [];
  const send = async (sender: number): Promise<void> => {
    while (!done.signal.aborted) {
      const id = `${prefix}-${(number += 1)}`;
      for (let tries = 0; !acknowledged.has(id); tries += 1) {
        const url = known[(sender + tries) % Math.max(known.length, 1)];
        const response =
          url === undefined
            ? undefined
            : await signedPost(
                `${url}/webhooks/demo-payments`,
                orderPaid(id, { warehouse: `W${number % 10}` }),
              ).catch(() => undefined);
        await response?.arrayBuffer().catch(() => undefined);
        if (response) answers.set(response.status, (answers.get(response.status) ?? 0) + 1);
        if (response?.ok) acknowledged.add(id);
        // Without an answer the replica is away, and comes back on another port of the range perhaps.
        else if (!response) known = await urls().catch(() => known);
        if (!response?.ok) await new Promise((resolve) => setTimeout(resolve, 100));
        if (done.signal.aborted) break;
      }
      // Slow enough for the ERP to keep up on a busy machine: what is looked at is the restarts, not a backlog.
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  };
  const all = Array.from({ length: senders }, (_, sender) => send(sender));
  return {
    acknowledged,
    answers,
    async stop() {
      done.abort();
      await Promise.all(all);
    },
  };
}
