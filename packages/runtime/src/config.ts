import { readFileSync } from 'node:fs';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { parseDocument, visit } from 'yaml';
import { z } from 'zod';
import type { Environment } from './environment.ts';
import { AppError, messageOf } from './errors.ts';

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Reads the YAML file of DESIGN 8: `${NAME}` and `${NAME:-default}` in strings are taken from the environment, then
 * everything is validated. RETRY_SCHEDULE overrides the schedule of endpoints and ERP targets alike.
 * Throws AppError config_invalid that lists every mistake with its path.
 */
export function loadConfig(environment: Environment, env: NodeJS.ProcessEnv): BreakwaterConfig {
  const path = environment.BREAKWATER_CONFIG;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new AppError(
      'config_invalid',
      `Cannot read the configuration ${path}: ${messageOf(error)}. Set BREAKWATER_CONFIG.`,
      { cause: error },
    );
  }
  const config = parseConfig(text, env, path);
  if (environment.RETRY_SCHEDULE === undefined) return config;
  const retrySchedule = [...environment.RETRY_SCHEDULE];
  const erpTargets = Object.fromEntries(
    Object.entries(config.erpTargets).map(([name, target]) => [name, { ...target, retrySchedule }]),
  );
  return { ...config, erpTargets, deliveries: { ...config.deliveries, retrySchedule } };
}

/** As loadConfig, from text. `path` only names the file in messages. */
export function parseConfig(text: string, env: NodeJS.ProcessEnv, path = 'configuration'): BreakwaterConfig {
  const document = parseDocument(text, { prettyErrors: true });
  const mistakes = document.errors.map((error) => error.message);
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value !== 'string') return;
      node.value = node.value.replaceAll(REFERENCE, (_match, name: string, fallback: string | undefined) => {
        const value = env[name];
        if (value !== undefined && value !== '') return value;
        if (fallback !== undefined) return fallback;
        mistakes.push(`✖ the environment variable ${name} is not set and has no default`);
        return '';
      });
    },
  });
  const result =
    mistakes.length === 0 || document.errors.length === 0
      ? BreakwaterConfig.safeParse(document.toJS() ?? {})
      : undefined;
  if (result?.success === false) mistakes.push(z.prettifyError(result.error));
  if (mistakes.length > 0 || !result?.success)
    throw new AppError('config_invalid', `${path} is not valid:\n${mistakes.join('\n')}`);
  return result.data;
}
