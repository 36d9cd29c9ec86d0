import { describeSource, sourcesOfOperator } from '@breakwater/core/source-report';
import { AppError } from '@breakwater/runtime/errors';
import type { ApiDeps, Handlers } from '../call.ts';

export function sourceHandlers(deps: ApiDeps): Pick<Handlers, 'listSources' | 'getSource'> {
  const { redis, keys, config } = deps;
  return {
    async listSources({ operator, query }) {
      const own = sourcesOfOperator(config, operator);
      const now = Date.now();
      return {
        answer: {
          sources: await Promise.all(
            own.map((source) => viewOf(describeSource(redis, keys, source, now, query.unusedForMs))),
          ),
        },
      };
    },
    async getSource({ operator, params, query }) {
      const source = sourcesOfOperator(config, operator).find(([name]) => name === params.source);
      if (!source)
        throw new AppError('not_found', `No source ${params.source} belongs to operator ${operator}.`);
      return { answer: await viewOf(describeSource(redis, keys, source, Date.now(), query.unusedForMs)) };
    },
  };
}

/** Its lists may be changed, as the schemas' types are. */
const viewOf = async (report: ReturnType<typeof describeSource>) => {
  const source = await report;
  return {
    ...source,
    secrets: source.secrets.map((secret) => ({ ...secret, insteadUsed: [...secret.insteadUsed] })),
  };
};
