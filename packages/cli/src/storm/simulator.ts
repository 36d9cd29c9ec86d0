import { z } from 'zod';

/** Faults of the ERP simulator (infra/erp-simulator); other ERPs have none to set. */
export type Faults = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 5_000;

/** The faults in force. Throws an Error with a sentence when that is no simulator. */
export async function readFaults(baseUrl: string): Promise<Faults> {
  return call(baseUrl, 'GET');
}

/** Replaces all faults. */
export async function writeFaults(baseUrl: string, faults: Faults): Promise<void> {
  await call(baseUrl, 'PUT', faults);
}

async function call(baseUrl: string, method: 'GET' | 'PUT', body?: Faults): Promise<Faults> {
  const url = new URL('/api/faults', baseUrl);
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  } catch (error) {
    throw new Error(
      `the ERP simulator at ${url.origin} does not answer: start it (npm start), or leave out --erp-latency and --erp-error-rate`,
      { cause: error },
    );
  }
  if (!response.ok)
    throw new Error(
      `the ERP simulator refused the faults (${response.status}): ${(await response.text()).slice(0, 300)}`,
    );
  return z.record(z.string(), z.unknown()).parse(await response.json());
}
