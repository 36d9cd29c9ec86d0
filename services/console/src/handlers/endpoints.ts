import { getEndpoint, setEndpointPaused } from '@breakwater/core/destination-gates';
import { pageOfEndpointIds } from '@breakwater/core/endpoint-pages';
import { withoutSecrets } from '@breakwater/core/endpoint-view';
import { addEndpoint, type EndpointChange, updateEndpoint } from '@breakwater/core/endpoints';
import { removeEndpoint } from '@breakwater/core/remove-endpoint';
import { finishRotation, rotateSecret } from '@breakwater/core/rotate-secret';
import { testEndpoint } from '@breakwater/core/test-endpoint';
import type { EndpointRecord } from '@breakwater/store/endpoints';
import { NOT_PAUSED, readPause } from '@breakwater/store/gates';
import { NO_ANSWERS, readRecentAnswers } from '@breakwater/store/recent-answers';
import { type ApiDeps, type Call, defined, type Handlers } from '../call.ts';

/** Dead-lettering what is open may take minutes; what is not done in this time the sweeper does. */
const REMOVE_WITHIN_MS = 5_000;

type Names =
  | 'listEndpoints'
  | 'createEndpoint'
  | 'getEndpoint'
  | 'updateEndpoint'
  | 'removeEndpoint'
  | 'pauseEndpoint'
  | 'resumeEndpoint'
  | 'rotateSecret'
  | 'finishRotation'
  | 'testEndpoint';

export function endpointHandlers(deps: ApiDeps): Pick<Handlers, Names> {
  const { redis, keys } = deps;
  const view = async (endpoint: EndpointRecord) => {
    const [pause, [recent = NO_ANSWERS]] = await Promise.all([
      readPause(redis, keys, endpoint.id),
      readRecentAnswers(redis, keys, [endpoint.id]),
    ]);
    return { ...withoutSecrets(endpoint), ...pause, recent };
  };
  const move = (paused: boolean) => async (call: Call<'pauseEndpoint' | 'resumeEndpoint'>) => {
    const { operator, actor, params, body } = call;
    const by = { operator, actor, reason: body.reason };
    const changed = await setEndpointPaused(deps, params.id, paused, by);
    const endpoint = await view(await getEndpoint(redis, keys, operator, params.id));
    return { answer: { ok: true as const, changed, endpoint } };
  };
  return {
    async listEndpoints({ operator, query }) {
      const { ids, nextCursor } = await pageOfEndpointIds(redis, keys, operator, defined(query));
      const records = await Promise.all(
        ids.map((id) => getEndpoint(redis, keys, operator, id).catch(() => null)),
      );
      const shown = records.filter((record) => record !== null); // one may be removed in between
      return { answer: { endpoints: await Promise.all(shown.map(view)), nextCursor } };
    },
    async createEndpoint({ operator, actor, body }) {
      const { endpoint, secret } = await addEndpoint(
        deps,
        { ...defined(body), url: body.url, operator },
        actor,
      );
      return {
        answer: { ...withoutSecrets(endpoint), ...NOT_PAUSED, recent: NO_ANSWERS, secret },
        version: endpoint.version,
      };
    },
    async getEndpoint({ operator, params }) {
      const endpoint = await getEndpoint(redis, keys, operator, params.id);
      return { answer: await view(endpoint), version: endpoint.version };
    },
    async updateEndpoint(call) {
      const { endpoint } = await updateEndpoint(deps, changeOf(call), defined(call.body));
      return { answer: await view(endpoint), version: endpoint.version };
    },
    async removeEndpoint(call) {
      const signal = AbortSignal.any([call.signal, AbortSignal.timeout(REMOVE_WITHIN_MS)]);
      const removal = await removeEndpoint(deps, changeOf(call), { signal });
      return { answer: { ok: true, ...removal } };
    },
    pauseEndpoint: move(true),
    resumeEndpoint: move(false),
    async rotateSecret(call) {
      const { endpoint, secret } = await rotateSecret(deps, changeOf(call), defined(call.body));
      return { answer: { ...(await view(endpoint)), secret }, version: endpoint.version };
    },
    async finishRotation(call) {
      const { endpoint, changed } = await finishRotation(deps, changeOf(call));
      return { answer: { ok: true, changed, endpoint: await view(endpoint) }, version: endpoint.version };
    },
    async testEndpoint({ operator, actor, params, signal }) {
      const { endpoint: _endpoint, ...told } = await testEndpoint(
        { ...deps, signal },
        { operator, id: params.id, actor },
      );
      return { answer: told };
    },
  };
}

const changeOf = ({
  operator,
  actor,
  params,
  ifVersion,
  query,
}: Call<'updateEndpoint' | 'removeEndpoint' | 'rotateSecret' | 'finishRotation'>): EndpointChange => ({
  operator,
  id: params.id,
  actor,
  ...(ifVersion !== undefined && { ifVersion }),
  ...(query.reason !== undefined && { reason: query.reason }),
});
