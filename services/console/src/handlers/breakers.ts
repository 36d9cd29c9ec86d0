import { readTargetBreaker, setTargetBreaker } from '@breakwater/core/destination-gates';
import { type ApiDeps, type Call, type Handlers } from '../call.ts';
import { visibleTargets } from './visible-targets.ts';

/** Breakers belong to the deployment: everybody whom one concerns sees it, and administrators move it. */
export function breakerHandlers(
  deps: ApiDeps,
): Pick<Handlers, 'listBreakers' | 'openBreaker' | 'closeBreaker'> {
  const { redis, keys, config } = deps;
  const move =
    (to: 'open' | 'closed') =>
    async ({ operator, actor, params, body }: Call<'openBreaker' | 'closeBreaker'>) => {
      const [target = ''] = visibleTargets(config, undefined, params.target);
      const changed = await setTargetBreaker(deps, target, to, { operator, actor, reason: body.reason });
      const breaker = await readTargetBreaker(redis, keys, target);
      return { answer: { ok: true as const, changed, breaker } };
    };
  return {
    async listBreakers({ operator, caller, query }) {
      const everybody = caller.scope.operator === null && query.operator === undefined;
      const targets = visibleTargets(config, everybody ? undefined : operator, query.target);
      const breakers = await Promise.all(targets.map((target) => readTargetBreaker(redis, keys, target)));
      return {
        answer: {
          breakers: breakers.map((breaker) => (everybody ? breaker : { ...breaker, waiting: null })),
        },
      };
    },
    openBreaker: move('open'),
    closeBreaker: move('closed'),
  };
}
