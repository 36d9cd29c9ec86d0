import { collectDefaultMetrics, Registry } from 'prom-client';

/** A registry of its own per process, never a global one: tests run several services in one process. */
export function createRegistry(options: { readonly processMetrics: boolean }): Registry {
  const registry = new Registry();
  if (options.processMetrics) collectDefaultMetrics({ register: registry, prefix: 'breakwater_' });
  return registry;
}
