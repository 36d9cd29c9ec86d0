import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pause } from '@breakwater/runtime/poll';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';

const CONFIG = `
sources:
  thin:
    preset: mollie-classic
    secrets: [{ id: url, value: a-token }]
    dedupe: coalesce
    replayKey: none
encryptionKeys: YnJlYWt3YXRlci1kZW1vLWtleS1ub3QtYS1zZWNyZXQ=
egress: { allowHttp: true, allow: [127.0.0.0/8] }
`;

/** The resources of a provider, and the last state of each that the subscriber read when it was notified. */
const states = new Map<string, number>();
const read = new Map<string, number>();
let notified = 0;
let subscriber: Server;
let rig: Rig;

beforeAll(async () => {
  subscriber = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: string };
      const id = new URLSearchParams(data).get('id') ?? '';
      notified += 1;
      read.set(id, Math.max(read.get(id) ?? 0, states.get(id) ?? 0));
      response.end();
    });
  });
  await new Promise<void>((resolve) => subscriber.listen(0, '127.0.0.1', resolve));
  rig = await startRig({ config: CONFIG, services: ['ingest', 'dispatcher'] });
  const { port } = subscriber.address() as AddressInfo;
  await rig.json('endpoints', 'add', '--url', `http://127.0.0.1:${port}/`, '--max-in-flight', '20');
}, 60_000);
afterAll(async () => {
  subscriber.close();
  subscriber.closeAllConnections();
  await rig.close();
}, 60_000);

/** Changes a resource and tells of it, as the provider does: until it is acknowledged. */
async function change(id: string): Promise<{ eventId: string; deduped: boolean }> {
  states.set(id, (states.get(id) ?? 0) + 1);
  const response = await fetch(`${rig.ingestUrl}/webhooks/thin?token=a-token`, {
    method: 'POST',
    body: `id=${id}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { eventId: string; deduped: boolean };
}

test('a change that is notified right while an earlier one is fanned out reaches the subscriber, or is read with it', async () => {
  const outcomes = { merged: 0, own: 0 };
  const rounds = Array.from({ length: 400 }, (_, index) => index).values();
  const work = async (): Promise<void> => {
    for (const round of rounds) {
      const id = `tr_${round}`;
      const first = await change(id);
      expect(first.deduped).toBe(false);
      // From before fan-out to after it, in steps of half a millisecond.
      const until = performance.now() + (round % 24) / 2;
      while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
      const second = await change(id);
      expect(second.deduped ? second.eventId : first.eventId).toBe(first.eventId);
      outcomes[second.deduped ? 'merged' : 'own'] += 1;
    }
  };
  await Promise.all(Array.from({ length: 3 }, work));
  const missing = (): string[] => [...states].flatMap(([id, state]) => (read.get(id) === state ? [] : [id]));
  await waitUntil(() => missing().length === 0, {
    what: 'the last state of each resource to be read',
    timeoutMs: 60_000,
  });
  // Both happened, or nothing was put to the test.
  expect(outcomes.merged).toBeGreaterThan(0);
  expect(outcomes.own).toBeGreaterThan(0);
  await waitUntil(() => notified === 400 + outcomes.own, { what: 'one delivery for each event' });
  await pause(200); // nothing more comes
  expect(notified).toBe(400 + outcomes.own);
}, 150_000);
