import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuard } from '@breakwater/local-stack/guard';
import { probeHttp, spawnChild, waitReady } from '@breakwater/local-stack/processes';
import { addEndpoint, deliveryReaching } from './console-api.ts';
import { freePort } from './free-port.ts';
import type { Rig } from './rig.ts';

const MAIN = join(import.meta.dirname, '../../examples/receiver/src/main.ts');

/** The example receiver as a process, subscribed to events of one type, with a secret that is not its endpoint's. */
export interface BrokenReceiver {
  /** Sends an event and resolves once its delivery is dead. */
  readonly deadLetter: (id: string) => Promise<void>;
  /** Starts it again with the right secret. */
  readonly mend: () => Promise<void>;
  /** It takes requests and answers none, until `resume`. */
  readonly suspend: () => void;
  readonly resume: () => void;
  readonly close: () => Promise<void>;
}

export async function startBrokenReceiver(rig: Rig, type: string): Promise<BrokenReceiver> {
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-receiver-'));
  const guard = startGuard();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const run = async (secret: string) => {
    const child = spawnChild({
      name: 'receiver',
      command: process.execPath,
      args: [MAIN],
      env: {
        ...process.env,
        PORT: String(port),
        WEBHOOK_SECRET: secret,
        INBOX_FILE: join(dir, 'inbox.ndjson'),
      },
      guard,
      stage: 1,
    });
    const ready = await waitReady(child, () => probeHttp(`${url}/events`), 30_000);
    if (ready.kind !== 'ready') throw new Error(`the receiver did not start:\n${child.tail().join('\n')}`);
    return child;
  };
  let child = await run(`whsec_${Buffer.alloc(24, 1).toString('base64')}`);
  const endpoint = await addEndpoint(rig, `${url}/webhooks`, type);
  return {
    async deadLetter(id) {
      await rig.send({ event_id: id, type });
      await deliveryReaching(rig, id, 'dead_letter');
    },
    async mend() {
      await child.stop(10_000);
      child = await run(endpoint.secret);
    },
    suspend: () => void process.kill(child.pid!, 'SIGSTOP'),
    resume: () => void process.kill(child.pid!, 'SIGCONT'),
    async close() {
      await child.kill();
      guard.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
