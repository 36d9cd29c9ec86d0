import { formatDuration } from '@breakwater/contracts/duration';
import { type ErpTarget, longestAttemptMs } from '@breakwater/contracts/target-config';
import { AppError } from '@breakwater/runtime/errors';
import { LEASE_MARGIN_MS, policyOfTarget } from '@breakwater/store/policy';

/** After the last answer of an ERP: recording results and closing connections. */
const STOP_MARGIN_MS = 5_000;

/**
 * Attempts must be able to end before anybody takes their process for dead: before their lease is over, and before a stop
 * ends the process. Otherwise the ERP's answer comes to nobody, and every deploy makes work for look-ups.
 * Throws AppError config_invalid with a sentence for each target that does not fit.
 */
export function checkTiming(targets: Readonly<Record<string, ErpTarget>>, shutdownTimeoutMs: number): void {
  const mistakes = Object.entries(targets).flatMap(([name, target]) => {
    const longest = longestAttemptMs(target.adapter);
    const { leaseMs = 0 } = policyOfTarget(target);
    const says = `erpTargets.${name}: an attempt may take ${formatDuration(longest)}`;
    return [
      ...(leaseMs < longest + LEASE_MARGIN_MS
        ? [`${says}, but its lease ends after ${formatDuration(leaseMs)}.`]
        : []),
      ...(shutdownTimeoutMs < longest + STOP_MARGIN_MS
        ? [
            `${says}, but a process that is told to stop ends after ${formatDuration(shutdownTimeoutMs)}, with the answer of the ERP still to come: set SHUTDOWN_TIMEOUT_MS to at least ${longest + STOP_MARGIN_MS}, or shorten the timeouts of the adapter.`,
          ]
        : []),
    ];
  });
  if (mistakes.length > 0) throw new AppError('config_invalid', mistakes.join('\n'));
}
