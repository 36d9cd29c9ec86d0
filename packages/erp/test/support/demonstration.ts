import { fileURLToPath } from 'node:url';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';

/** The demonstration's configuration, loaded as every process loads it. `env` is all that is set. */
export function demonstration(env: NodeJS.ProcessEnv = {}): BreakwaterConfig {
  const path = fileURLToPath(new URL('../../../../breakwater.config.yaml', import.meta.url));
  return loadConfig(readEnvironment({ ...env, BREAKWATER_CONFIG: path }), env);
}
