import { collectDefaultMetrics, Registry } from 'prom-client';

/** A registry of one process with Node's own metrics. Never prom-client's global one: tests start services many times. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
