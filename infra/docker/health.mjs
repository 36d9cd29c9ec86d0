// The containers' health: asks HEALTH_URL, else the readiness of the ops port.
const { HEALTH_URL, OPS_PORT } = process.env;
const url = HEALTH_URL || `http://127.0.0.1:${OPS_PORT}/readyz`;
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(2500) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
