import type { Delivery } from '@breakwater/contracts/delivery';
import { whyNoDelivery } from '@breakwater/core/dead-letters';
import { printable } from '@breakwater/core/printable';
import { findReplayObstacle } from '@breakwater/core/replay-check';
import {
  awaitReplays,
  lastAttemptNumber,
  type ReplayResult,
  type ReplayTicket,
} from '@breakwater/core/replay-result';
import { REPLAY_NOTICE, requestReplay } from '@breakwater/core/replay';
import { readDelivery } from '@breakwater/store/deliveries';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { checkReason, dryRunOption, waitTimeoutOption } from '../options.ts';
import { withDeliveries } from '../store-access.ts';
import { whyOf } from './delivery-view.ts';

interface ReplayOptions {
  readonly reason: string;
  readonly restart?: boolean;
  readonly acknowledgeDuplicates?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly dryRun?: boolean;
}

export function replayCommand(deliveries: Command, context: CliContext): void {
  deliveries
    .command('replay')
    .description(`add one attempt to an existing delivery. ${REPLAY_NOTICE}`)
    .argument('<id>')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .option('--restart', 'begin the whole retry schedule again instead of a single try')
    .option('--acknowledge-duplicates', 'it was sent already, and the receiver dedupes durably')
    .option('--wait', 'wait for the result: exit code 0 when it was sent, 1 otherwise')
    .addOption(waitTimeoutOption())
    .addOption(dryRunOption())
    .action(context.action((id: string, options: ReplayOptions) => replay(context, id, options)));
}

async function replay(context: CliContext, id: string, options: ReplayOptions): Promise<number> {
  const { operator } = context.globals();
  const reason = checkReason(options.reason);
  const acknowledged = options.acknowledgeDuplicates ?? false;
  const mode = options.restart ? 'restart' : 'single';
  return withDeliveries(context, async ({ redis, keys, transitions, clocks }) => {
    const delivery = await readDelivery(redis, keys, operator, id);
    if (!delivery) throw await whyNoDelivery({ redis, keys }, operator, id);
    const obstacle = await findReplayObstacle(redis, keys, delivery, acknowledged);
    if (obstacle) throw obstacle;
    if (options.dryRun) {
      context.print(
        { ok: true, dryRun: true, delivery: id, mode, notice: REPLAY_NOTICE },
        () => `${describe(delivery)} would be replayed. Nothing was changed.\n${REPLAY_NOTICE}`,
      );
      return EXIT.ok;
    }
    const replayId = await requestReplay(transitions, clocks, {
      delivery: id,
      operator,
      mode,
      acknowledged,
      reason,
      actor: context.actor,
    });
    const asked = { ok: true, delivery: id, replayId, mode, notice: REPLAY_NOTICE };
    if (!options.wait) {
      context.print(
        asked,
        () => `Replay ${replayId} of ${describe(delivery)} was asked for.\n${REPLAY_NOTICE}`,
      );
      return EXIT.ok;
    }
    context.note(`Replay ${replayId} of ${describe(delivery)} was asked for. ${REPLAY_NOTICE}`);
    const ticket: ReplayTicket = {
      delivery: id,
      replayId,
      mode,
      attemptsBefore: lastAttemptNumber(delivery),
    };
    const results = await awaitReplays({ redis, keys }, [ticket], {
      timeoutMs: options.timeout,
      signal: context.io.signal,
    });
    const after = await readDelivery(redis, keys, operator, id);
    const result = results.get(id) ?? 'open';
    context.print({ ...asked, ok: result === 'sent', result, status: after?.status ?? null }, () =>
      sayResult(result, after),
    );
    return result === 'sent' ? EXIT.ok : EXIT.failure;
  });
}

const describe = ({ id, status }: Delivery): string => `${id} (${status})`;

function sayResult(result: ReplayResult, delivery: Delivery | undefined): string {
  const last = delivery?.attempts.at(-1);
  switch (result) {
    case 'sent':
      return `It was sent${last ? `, by attempt ${last.number} in ${last.durationMs} ms` : ''}.`;
    case 'failed':
      return `It failed: ${last ? printable(whyOf(last)) : 'no attempt was made'}. The delivery is ${delivery?.status ?? 'gone'}; see: deliveries show ${delivery?.id ?? ''}`;
    case 'open':
      return 'No result yet. The replay stays queued: are the services running, the destination active and its breaker closed?';
  }
}
