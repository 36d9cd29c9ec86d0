import { readFileSync } from 'node:fs';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { type Document, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import type { Environment } from './environment.ts';
import { AppError, messageOf } from './errors.ts';

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Reads the YAML file of DESIGN 8: `${NAME}` and `${NAME:-default}` in strings are taken from the environment, then
 * everything is validated. RETRY_SCHEDULE overrides the deployment's schedule, which endpoints and ERP targets without one of
 * their own follow.
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
  return { ...config, deliveries: { ...config.deliveries, retrySchedule: [...environment.RETRY_SCHEDULE] } };
}

/** Syntax errors follow from each other; more than the first few only bury the cause. */
const SYNTAX_ERRORS_SHOWN = 3;

/** As loadConfig, from text. `path` only names the file in messages. */
export function parseConfig(text: string, env: NodeJS.ProcessEnv, path = 'configuration'): BreakwaterConfig {
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0) {
    const more = document.errors.length - SYNTAX_ERRORS_SHOWN;
    throw invalid(path, [
      ...document.errors.slice(0, SYNTAX_ERRORS_SHOWN).map((error) => `✖ ${error.message}`),
      ...(more > 0 ? [`and ${more} more, which may follow from these`] : []),
    ]);
  }
  const unset = fillIn(document, env);
  const result = BreakwaterConfig.safeParse(document.toJS() ?? {});
  // What else is wrong with a text that could not be filled in follows from that.
  const issues = (result.error?.issues ?? []).filter(
    (issue) => !unset.some(({ at }) => at === issue.path.join('.')),
  );
  const mistakes = unset.map(
    ({ name, at }) => `✖ the environment variable ${name} is not set and has no default\n  → at ${at}`,
  );
  if (issues.length > 0) mistakes.push(z.prettifyError({ issues }));
  if (mistakes.length > 0 || !result.success) throw invalid(path, mistakes);
  return result.data;
}

const invalid = (path: string, mistakes: readonly string[]): AppError =>
  new AppError('config_invalid', `${path} is not valid:\n${mistakes.join('\n')}`);

/** Puts the environment into the strings of a document. Returns what it could not fill in, with its place. */
function fillIn(
  document: Document,
  env: NodeJS.ProcessEnv,
): { readonly name: string; readonly at: string }[] {
  const unset: { name: string; at: string }[] = [];
  visit(document, {
    Scalar(key, node, ancestors) {
      if (typeof node.value !== 'string' || key === 'key') return;
      node.value = node.value.replaceAll(REFERENCE, (_match, name: string, fallback: string | undefined) => {
        const value = env[name];
        if (value !== undefined && value !== '') return value;
        if (fallback === undefined) unset.push({ name, at: placeOf(ancestors, key) });
        return fallback ?? '';
      });
    },
  });
  return unset;
}

/** Path of a scalar as zod writes it: `sources.shop.secrets.0.value`. */
function placeOf(ancestors: readonly unknown[], key: unknown): string {
  const path: string[] = [];
  for (const [index, node] of ancestors.entries()) {
    const child = ancestors[index + 1];
    if (isPair(node)) path.push(String(isScalar(node.key) ? node.key.value : node.key));
    else if (isSeq(node)) path.push(String(child === undefined ? key : node.items.indexOf(child)));
  }
  return path.join('.');
}
