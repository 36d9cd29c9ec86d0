import { fileURLToPath } from 'node:url';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, erpDestination, eventKey, newId } from '@breakwater/contracts/ids';
import { encodeBody, type EventJob } from '@breakwater/contracts/jobs';
import type { DeepState, Finding } from '@breakwater/contracts/reconciliation';
import { createErpTargets } from '@breakwater/erp/targets';
import { startSimulator } from '@breakwater/erp-simulator/app';
import { createHttpClient } from '@breakwater/http/client';
import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';
import { writeGate } from '@breakwater/store/gates';
import type { EndInput } from '@breakwater/store/transitions';
import { sharedRedisUrl } from '../../../../test/support/redis.ts';
import { openDeliveries } from '../../src/delivery-deps.ts';
import { createFanOut } from '../../src/fan-out.ts';
import { reconcile, type ReconcileInput, type ReconcilePage } from '../../src/reconcile.ts';
import { addDeep } from '../../src/reconcile-rounds.ts';
import { afterwards, silent } from './acceptor.ts';

const CONFIG = fileURLToPath(new URL('../../../../breakwater.config.yaml', import.meta.url));
const DESTINATION = erpDestination('receipts');

/** The demonstration's configuration, changed by `change`, whose simulator runs in this process; and the moves of tests. */
export async function openReconciling(
  change: (config: BreakwaterConfig) => BreakwaterConfig = (same) => same,
) {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, logger: silent });
  afterwards(() => simulator.close());
  const erpUrl = `http://127.0.0.1:${simulator.port}`;
  const env = { ERP_SIMULATOR_URL: erpUrl, BREAKWATER_CONFIG: CONFIG };
  const loaded = loadConfig(readEnvironment(env), env);
  const config = change({
    ...loaded,
    reconciliation: { ...loaded.reconciliation, grace: 0, lookupsPerSecond: 1_000 },
  });
  const settings = { redisUrl: sharedRedisUrl(), keyPrefix: `t${newId()}`, breakwater: config };
  const work = openDeliveries(settings, { defer: (_label, close) => afterwards(close), logger: silent });
  const { redis, keys, transitions } = work;
  await writeGate(redis, keys, DESTINATION, 10, { canFind: true });
  const client = createHttpClient({});
  afterwards(() => client.close());
  const targets = createErpTargets(config, client);
  const fanOut = createFanOut({ ...work, config, targets });
  const target = targets.get('receipts');
  if (!target) throw new Error('the demonstration has no target receipts');

  const job = (eventId: string): EventJob => ({
    v: 1,
    operator: 'default',
    source: 'demo-payments',
    eventId,
    type: 'order.paid',
    entity: '',
    contentType: 'application/json',
    receivedAt: Date.now(),
    ...encodeBody(
      Buffer.from(JSON.stringify({ event_id: eventId, order_id: 'o-1', warehouse: eventId })),
      true,
    ),
  });
  const begin = async (id: string) => {
    const seq = await redis.hget(keys.delivery(id), 'seq');
    const answer = await transitions.beginAttempt(id, `${id}-${seq}`, newId());
    if (answer.kind !== 'go') throw new Error(`expected go, got ${JSON.stringify(answer)}`);
    return answer.go;
  };
  const attempt = async (id: string, outcome: EndInput['outcome'], receipt = ''): Promise<void> => {
    const { delivery, alarmId, attempt: number } = await begin(id);
    const failed = outcome === 'unknown' ? 'erp_unknown' : outcome;
    const end = {
      delivery,
      alarmId,
      attempt: number,
      outcome,
      class: failed,
      code: '',
      handOffToken: '',
      receipt,
    };
    await transitions.endAttempt(end);
  };
  const post = async (reference: string): Promise<string> => {
    const response = await fetch(`${erpUrl}/api/receipts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ external_reference: reference, order_id: 'o-1', warehouse: 'W1', lines: [] }),
    });
    return ((await response.json()) as { receipt_no: string }).receipt_no;
  };
  return {
    ...work,
    config,
    target,
    targets,
    job,
    fanOut,
    begin,
    attempt,
    /** Posts a document as somebody else would. */
    post,
    cancel: (receipt: string) => fetch(`${erpUrl}/api/receipts/${receipt}`, { method: 'DELETE' }),
    faults: (faults: object) =>
      fetch(`${erpUrl}/api/faults`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(faults),
      }),
    /** Accepts an event and fans it out. Resolves to its delivery. */
    async accept(eventId: string): Promise<string> {
      await fanOut(job(eventId));
      return deliveryId(eventKey('default', 'demo-payments', eventId), DESTINATION);
    },
    /** Accepts an event and posts its document. Resolves to both. */
    async posted(eventId: string): Promise<{ id: string; receipt: string }> {
      const id = await this.accept(eventId);
      const receipt = await post(eventId);
      await attempt(id, 'posted', receipt);
      return { id, receipt };
    },
    /** All findings of a reconciliation, and what its pages were. */
    async reconcile(more: Partial<ReconcileInput> = {}): Promise<{
      findings: Finding[];
      pages: ReconcilePage[];
      deep: DeepState;
    }> {
      const input = {
        target,
        since: Date.now() - 3_600_000,
        until: Date.now() + 60_000,
        deep: false,
        ...more,
      };
      const pages = await Array.fromAsync(
        reconcile({ redis, keys, config, maintenance: work.maintenance }, input),
      );
      return {
        findings: pages.flatMap(({ findings }) => findings),
        pages,
        deep: pages.reduce<DeepState>((sum, page) => addDeep(sum, page.deep), { kind: 'off' }),
      };
    },
    /** As if everything on record had happened two minutes ago: what the ERP lists now can be expected to have it. */
    async age(...ids: readonly string[]): Promise<void> {
      const before = Date.now() - 120_000;
      for (const id of ids) {
        await redis.hset(keys.delivery(id), 'sentAt', before);
        await redis.zadd(keys.recorded, 'XX', before, id.slice(0, id.indexOf('.')));
      }
    },
  };
}
export type Reconciling = Awaited<ReturnType<typeof openReconciling>>;
