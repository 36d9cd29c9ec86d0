import { createToken, listTokens, revokeToken } from '@breakwater/core/tokens';
import type { ApiDeps, Handlers } from '../call.ts';

export function tokenHandlers(deps: ApiDeps): Pick<Handlers, 'listTokens' | 'createToken' | 'revokeToken'> {
  return {
    listTokens: async () => ({ answer: { tokens: await listTokens(deps) } }),
    async createToken({ actor, body }) {
      const { token, value } = await createToken(deps, body, actor);
      return { answer: { ...token, value } };
    },
    async revokeToken({ actor, params, query }) {
      const { token, changed } = await revokeToken(deps, {
        id: params.id,
        reason: query.reason ?? '',
        actor,
      });
      return { answer: { ok: true, changed, token } };
    },
  };
}
