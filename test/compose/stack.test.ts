import { afterAll, beforeAll, expect } from '@jest/globals';
import { engineMissing } from '../support/engine.ts';
import { testUnless } from '../support/test-unless.ts';
import { waitUntil } from '../support/wait-until.ts';
import { createDeployment, type Deployment } from './deployment.ts';
import { orderPaid, signedPost } from '../support/webhook.ts';
import { startLoad } from './load.ts';

const reason = engineMissing();
const testHere = testUnless(reason);
const UP = ['--profile', 'demo', 'up', '-d', '--wait', '--wait-timeout', '180'];
const SERVICES = ['ingest', 'dispatcher', 'erp-consumer', 'console'] as const;

let stack: Deployment;
beforeAll(async () => {
  if (reason !== undefined) return;
  stack = await createDeployment();
  await stack.run('build');
}, 600_000);
afterAll(() => stack?.destroy(), 180_000);

interface Storm {
  readonly accepted: number;
  readonly deduped: number;
  readonly postings: number;
  readonly duplicates: number;
  readonly exact: boolean;
}
const storm = async (...args: string[]): Promise<Storm> =>
  JSON.parse(await stack.run('run', '--rm', '-T', 'storm', '--json', ...args)) as Storm;
const EXACT = { accepted: 100, deduped: 4_900, postings: 100, duplicates: 0, exact: true };

/** Runs JavaScript in the simulator's container, which is not published. */
const atSimulator = async (script: string): Promise<string> =>
  (await stack.run('exec', '-T', 'erp-simulator', 'node', '--input-type=module', '-e', script)).trim();
const erpStats = async (): Promise<{ postings: number; distinctReferences: number; duplicates: number }> =>
  JSON.parse(
    await atSimulator(`console.log(await (await fetch('http://127.0.0.1:8090/api/stats')).text())`),
  ) as Awaited<ReturnType<typeof erpStats>>;

/** What Prometheus answers to a query. */
async function ask(promql: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]> {
  const url = `http://127.0.0.1:9090/api/v1/query?query=${encodeURIComponent(promql)}`;
  const { data } = JSON.parse(await stack.run('exec', '-T', 'prometheus', 'wget', '-q', '-O', '-', url)) as {
    data: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  return data.result;
}

/** Pid and health of a container, such as `4711 healthy`. */
const stateOf = async (id: string): Promise<[pid: number, health: string]> => {
  const state = await stack.docker('inspect', '--format', '{{.State.Pid}} {{.State.Health.Status}}', id);
  const [pid, health = ''] = state.trim().split(' ');
  return [Number(pid), health];
};
const isHealthy = async (id: string): Promise<boolean> => (await stateOf(id))[1] === 'healthy';

/**
 * kill -9 of the process itself: docker's own kill would count as stopped on purpose, and nothing would be restarted.
 * Resolves when the engine has started another one in the container; it is healthy later.
 */
async function crash(service: string): Promise<string> {
  const [id = ''] = await stack.containers(service);
  const [before] = await stateOf(id);
  process.kill(before, 'SIGKILL');
  await waitUntil(
    async () => {
      const [pid] = await stateOf(id);
      return pid !== 0 && pid !== before;
    },
    { what: `${service} to be started again`, timeoutMs: 90_000, intervalMs: 100 },
  );
  return id;
}

testHere(
  'without real secrets nothing starts, and a sentence says which are missing',
  async () => {
    const { code } = await stack.compose('up', '-d', '--wait');
    expect(code).not.toBe(0);
    const log = await stack.run('logs', '--no-log-prefix', 'preflight');
    for (const name of ['DEMO_WEBHOOK_SECRET', 'ADMIN_TOKEN', 'PUBLISH_TOKEN', 'ENCRYPTION_KEYS'])
      expect(log).toContain(`${name} is neither a file in /secrets`);
    for (const service of SERVICES) expect(await stack.containers(service)).toEqual([]);
  },
  180_000,
);

testHere(
  'the demonstration needs no editing: it comes up healthy, and only ingest and console are published, on loopback',
  async () => {
    await stack.run(...UP);
    const published = JSON.parse(
      `[${(await stack.run('ps', '--format', 'json')).trim().split('\n').join(',')}]`,
    ) as {
      Service: string;
      Publishers: { URL: string; PublishedPort: number }[] | null;
    }[];
    const open = published.flatMap(({ Service, Publishers }) =>
      (Publishers ?? []).filter((each) => each.PublishedPort > 0).map((each) => `${Service} ${each.URL}`),
    );
    expect(new Set(open)).toEqual(new Set(['edge 127.0.0.1', 'console 127.0.0.1']));
  },
  240_000,
);

testHere(
  'no process runs as root, can write to its image or can gain rights',
  async () => {
    for (const service of [...SERVICES, 'edge', 'erp-simulator', 'receiver']) {
      const [id = ''] = await stack.containers(service);
      const format =
        '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}';
      const seen = (await stack.docker('inspect', '--format', format, id)).trim();
      expect(`${service}: ${seen}`).toBe(`${service}: node true [ALL] [no-new-privileges:true]`);
    }
  },
  60_000,
);

testHere(
  'docker compose run --rm storm prints the exact table, and the CLI answers in a container',
  async () => {
    const table = await stack.run('run', '--rm', '-T', 'storm', '--run', 'kept');
    expect(table).toContain('EXACT: 5000 deliveries of 100 orders, 100 postings, 0 duplicates.');
    expect(await stack.json('dead-letters', 'list')).toMatchObject({ deliveries: [] });
  },
  180_000,
);

testHere(
  'Redis counts as healthy only while it answers without an error',
  async () => {
    const [id = ''] = await stack.containers('redis');
    const health = JSON.parse(
      await stack.docker('inspect', '--format', '{{json .Config.Healthcheck.Test}}', id),
    ) as string[];
    const code = async (): Promise<number | null> =>
      (await stack.compose('exec', '-T', 'redis', ...health.slice(1))).code;
    expect(await code()).toBe(0);
    const acl = (rule: string): Promise<string> =>
      stack.run('exec', '-T', 'redis', 'redis-cli', 'acl', 'setuser', 'default', rule);
    await acl('-ping'); // any error will do; LOADING and MISCONF are hard to hold still
    try {
      expect(await code()).not.toBe(0);
    } finally {
      await acl('+ping');
    }
  },
  60_000,
);

testHere(
  'kill -9 of every service and of Redis in the middle of a storm changes no number, and ingest keeps its port',
  async () => {
    const { postings } = await erpStats();
    let isOver = false;
    const running = storm('--erp-latency', '500-1500').finally(() => (isOver = true));
    running.catch(() => undefined); // awaited below
    await waitUntil(async () => (await erpStats()).postings > postings, {
      what: 'the storm to reach the ERP',
      timeoutMs: 90_000,
      intervalMs: 100,
    });
    // The ERP consumer first: until it is back, the storm cannot end.
    const killed: string[] = [];
    for (const service of ['erp-consumer', 'redis', 'ingest', 'edge', 'dispatcher', 'console'])
      killed.push(await crash(service));
    expect(isOver).toBe(false);
    expect(await running).toMatchObject(EXACT);
    for (const id of killed)
      await waitUntil(() => isHealthy(id), {
        what: `${id} to be healthy`,
        timeoutMs: 90_000,
        intervalMs: 300,
      });
    expect(
      (await signedPost(`${stack.ingestUrl}/webhooks/demo-payments`, orderPaid('after-the-kills'))).status,
    ).toBe(200);
  },
  400_000,
);

testHere(
  'two ingests, three dispatchers and two ERP consumers make the same numbers',
  async () => {
    await stack.run(...UP, '--scale', 'ingest=2', '--scale', 'dispatcher=3', '--scale', 'erp-consumer=2');
    expect(await stack.containers('ingest')).toHaveLength(2);
    expect(await storm()).toMatchObject(EXACT);
  },
  300_000,
);

testHere(
  'Prometheus has every replica as a target, and the rules',
  async () => {
    await waitUntil(
      async () => {
        const up = (await ask('count by (job) (up == 1)')).map(
          ({ metric, value }) => `${metric['job']} ${value[1]}`,
        );
        expect(new Set(up)).toEqual(
          new Set(['ingest 2', 'dispatcher 3', 'erp-consumer 2', 'console 1', 'prometheus 1']),
        );
        return true;
      },
      { what: 'every target to be up', timeoutMs: 90_000, intervalMs: 1_000 },
    );
    const rules = await stack.run(
      'exec',
      '-T',
      'prometheus',
      'wget',
      '-q',
      '-O',
      '-',
      'http://127.0.0.1:9090/api/v1/rules',
    );
    expect(rules).toContain('SideEffectsDiverge');
  },
  120_000,
);

testHere(
  'a rolling restart of everything under load answers nothing but 2xx and 503, loses nothing and doubles nothing',
  async () => {
    const before = await erpStats();
    const load = startLoad('rolling', stack.ingestUrl);
    await waitUntil(() => load.acknowledged.size > 50, { what: 'the load to begin', timeoutMs: 60_000 });
    for (const service of [...SERVICES, 'redis']) {
      for (const id of await stack.containers(service)) {
        await stack.docker('restart', id);
        await waitUntil(() => isHealthy(id), {
          what: `${service} to be healthy again`,
          timeoutMs: 90_000,
          intervalMs: 300,
        });
      }
    }
    await load.stop();
    expect([...load.answers.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    // Asked of the ERP itself: an event that waits to be fanned out has no delivery yet that a list could show.
    await waitUntil(
      async () => {
        const wrong = await atSimulator(`
          const ids = ${JSON.stringify([...load.acknowledged])};
          for (const id of ids) {
            const { receipts } = await (await fetch('http://127.0.0.1:8090/api/receipts?external_reference=' + id)).json();
            if (receipts.length !== 1) console.log(id, receipts.length);
          }`);
        expect(wrong).toBe('');
        return true;
      },
      { what: 'every acknowledged event to be posted once', timeoutMs: 240_000, intervalMs: 2_000 },
    );
    const after = await erpStats();
    expect(after.duplicates).toBe(0);
    expect(after.postings - before.postings).toBeGreaterThanOrEqual(load.acknowledged.size);
  },
  900_000,
);

testHere(
  'down and up keeps the data: the ids of an earlier storm are still known',
  async () => {
    await stack.run('--profile', 'demo', 'down', '--timeout', '30');
    await stack.run(...UP);
    expect(await storm('--run', 'kept')).toMatchObject({
      accepted: 0,
      postings: 100,
      duplicates: 0,
      exact: true,
    });
  },
  300_000,
);

testHere(
  'a divergence reaches Alertmanager as a page for the owner of the target',
  async () => {
    await atSimulator(`
      const url = 'http://127.0.0.1:8090/api/receipts';
      const { receipts: [{ external_reference, order_id, warehouse, lines }] } = await (await fetch(url)).json();
      const body = JSON.stringify({ external_reference, order_id, warehouse, lines });
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      if (answer.status !== 201) throw new Error(String(answer.status));`);
    const alert = await waitUntil(
      async () => {
        const answer = await stack.run(
          'exec',
          '-T',
          'alertmanager',
          'wget',
          '-q',
          '-O',
          '-',
          'http://127.0.0.1:9093/api/v2/alerts',
        );
        const alerts = JSON.parse(answer) as {
          labels: Record<string, string>;
          receivers: { name: string }[];
        }[];
        return alerts.find(({ labels }) => labels['alertname'] === 'SideEffectsDiverge');
      },
      { what: 'the alert', timeoutMs: 150_000, intervalMs: 2_000 },
    );
    expect(alert).toMatchObject({
      labels: { direction: 'above', target: 'receipts', severity: 'page', owner: 'integration' },
      receivers: [{ name: 'integration-owner' }],
    });
  },
  240_000,
);
