import type { Rig } from './rig.ts';
import { waitUntil } from './wait-until.ts';

/** The administrator's token of the demonstration's configuration. */
export const ADMIN_TOKEN = 'demo-admin-token';

/** Calls the admin API of a rig and resolves to what it answers; throws where it refuses. */
export async function callApi<T>(
  rig: Pick<Rig, 'consoleUrl'>,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(`${rig.consoleUrl}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Registers an endpoint for events of one type; its time-out is the longest there is. */
export const addEndpoint = (
  rig: Rig,
  url: string,
  type: string,
): Promise<{ readonly id: string; readonly secret: string }> =>
  callApi(rig, 'POST', '/endpoints', { url, types: [type], timeoutMs: 30_000 });

/** Waits until the event's delivery has this status and resolves to the delivery's id. */
export async function deliveryReaching(rig: Rig, event: string, status: string): Promise<string> {
  const query = new URLSearchParams({ event, status });
  const { id } = await waitUntil(
    async () =>
      (await callApi<{ deliveries: { id: string }[] }>(rig, 'GET', `/deliveries?${query.toString()}`))
        .deliveries[0],
    { what: `the delivery of ${event} to be ${status}`, timeoutMs: 60_000, intervalMs: 200 },
  );
  return id;
}
