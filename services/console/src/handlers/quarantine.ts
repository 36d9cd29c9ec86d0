import { type RetryResult, retryQuarantined } from '@breakwater/core/quarantine';
import {
  findQuarantined,
  pageOfQuarantine,
  sourceOfEntry,
  viewOfQuarantined,
} from '@breakwater/core/quarantine-list';
import { explainQuarantined, maskedBody } from '@breakwater/core/quarantine-report';
import { sourcesOfOperator } from '@breakwater/core/source-report';
import { useAcceptor } from '@breakwater/core/use-acceptor';
import { AppError } from '@breakwater/runtime/errors';
import { type ApiDeps, defined, type Handlers } from '../call.ts';
import { encodeBytes } from './encode-bytes.ts';

type Names = 'listQuarantine' | 'getQuarantined' | 'retryQuarantined';

/** Requests that ingest refused. All of it is of the operator alone: also the sources whose secrets are tried and masked. */
export function quarantineHandlers(deps: ApiDeps): Pick<Handlers, Names> {
  const { redis, keys, config, accepting } = deps;
  return {
    async listQuarantine({ operator, query }) {
      const { source, limit, cursor } = query;
      const own = sourcesOfOperator(config, operator);
      const asked = source === undefined ? own : own.filter(([name]) => name === source);
      if (source !== undefined && asked.length === 0)
        throw new AppError('not_found', `No source ${source} belongs to operator ${operator}.`);
      const page = await pageOfQuarantine(
        redis,
        keys,
        defined({ operator, source }),
        asked,
        defined({ limit, cursor }),
      );
      return { answer: { ...page, entries: page.entries.map(viewOfQuarantined) } };
    },
    async getQuarantined({ operator, params, query }) {
      const entry = await findQuarantined(redis, keys, operator, params.id);
      const own = sourcesOfOperator(config, operator);
      const { now, slips } = await explainQuarantined(
        entry,
        sourceOfEntry(entry, own),
        Object.fromEntries(own),
      );
      return {
        answer: {
          ...viewOfQuarantined({ ...entry, sizeBytes: entry.body.length }),
          now: settled(now),
          slips: slips.map(({ kind, says }) => ({ kind, says })),
          ...(query.body && { body: encodeBytes(maskedBody(entry, own, config.samples.redact)) }),
        },
      };
    },
    async retryQuarantined({ operator, actor, params, body }) {
      const entry = await findQuarantined(redis, keys, operator, params.id);
      const source = sourceOfEntry(entry, sourcesOfOperator(config, operator));
      const { reason, dryRun } = body;
      const by = { actor, reason };
      const result = settled(
        dryRun
          ? await retryQuarantined(entry, source, undefined)
          : await useAcceptor(accepting, (acceptor) =>
              retryQuarantined(entry, source, { acceptor, redis, keys, by }),
            ),
      );
      return { answer: { ok: result.kind !== 'refused', dryRun, id: entry.id, result } };
    },
  };
}

/** Throws AppError unavailable where nothing is accepted now; the entry stays. */
function settled(result: RetryResult) {
  if (result.kind === 'unavailable')
    throw new AppError('unavailable', `No events are accepted now: ${result.message}.`);
  return result.kind === 'accepted' ? { ...result, events: [...result.events] } : result;
}
