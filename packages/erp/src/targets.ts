import type { BreakwaterConfig } from '@breakwater/contracts/config';
import type { ErpTarget } from '@breakwater/contracts/target-config';
import type { HttpClient } from '@breakwater/http/client';
import { AppError } from '@breakwater/runtime/errors';
import type { ErpAdapter } from './adapter.ts';
import { createHttpAdapter } from './http-adapter.ts';
import { type Mapping, createMapping } from './mapping.ts';
import { createTrytonAdapter } from './tryton-adapter.ts';

/** A configured ERP, ready to be posted to. */
export interface ReadyErpTarget {
  readonly name: string;
  readonly config: ErpTarget;
  readonly adapter: ErpAdapter;
  readonly mapping: Mapping;
}

export type ErpTargets = ReadonlyMap<string, ReadyErpTarget>;

/**
 * Makes every ERP target of a configuration, by name. `client` is shared and stays the caller's to close.
 * Throws AppError config_invalid that lists the mistakes of all targets, so that they are corrected in one go.
 */
export function createErpTargets(config: BreakwaterConfig, client: HttpClient): Map<string, ReadyErpTarget> {
  const targets = new Map<string, ReadyErpTarget>();
  const mistakes: string[] = [];
  for (const [name, target] of Object.entries(config.erpTargets)) {
    const attempt = <T>(make: () => T): T | undefined => {
      try {
        return make();
      } catch (error) {
        mistakes.push(...mistakesOf(error).map((mistake) => `erpTargets.${name}.${mistake}`));
        return undefined;
      }
    };
    const mapping = attempt(() => createMapping(target));
    const adapter = attempt(() => createAdapter(target, client));
    if (mapping && adapter) targets.set(name, { name, config: target, adapter, mapping });
  }
  if (mistakes.length > 0) {
    throw new AppError(
      'config_invalid',
      `The ERP targets are not valid:\n${mistakes.map((text) => `✖ ${text}`).join('\n')}`,
      { details: { mistakes } },
    );
  }
  return targets;
}

function createAdapter(target: ErpTarget, client: HttpClient): ErpAdapter {
  switch (target.adapter.kind) {
    case 'http':
      return createHttpAdapter(target.adapter, client);
    case 'tryton':
      return createTrytonAdapter(target.adapter, client);
  }
}

/** A bug is not a mistake of the configuration and goes on its way. */
function mistakesOf(error: unknown): readonly string[] {
  const mistakes =
    error instanceof AppError && error.code === 'config_invalid' ? error.details['mistakes'] : undefined;
  if (!Array.isArray(mistakes)) throw error;
  return mistakes.map(String);
}
