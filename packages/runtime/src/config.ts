import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { type Document, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import type { Environment } from './environment.ts';
import { AppError, codeOf, messageOf } from './errors.ts';

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Reads the YAML file of DESIGN 8: `${NAME}` and `${NAME:-default}` in strings are taken from the environment, else from the
 * file of that name in SECRETS_DIR, then everything is validated. Where SECRETS_DIR is set, defaults do not count: a deployment
 * that keeps its secrets in files must not run with one that everybody knows because a file is missing. RETRY_SCHEDULE overrides the deployment's schedule, which endpoints and ERP targets without one of
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
  const mistakes = unset.map(({ name, at }) => `✖ ${whatIsMissing(name, env)}\n  → at ${at}`);
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
        const value = env[name] || readSecret(env, name);
        if (value !== undefined && value !== '') return value;
        const allowed = env['SECRETS_DIR'] ? undefined : fallback;
        if (allowed === undefined) unset.push({ name, at: placeOf(ancestors, key) });
        return allowed ?? '';
      });
    },
  });
  return unset;
}

/** The file of a secret, without the newline that editors and `echo` leave at the end; undefined when there is none. */
function readSecret(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const directory = env['SECRETS_DIR'];
  if (!directory) return undefined;
  try {
    return readFileSync(join(directory, name), 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new AppError(
      'config_invalid',
      `Cannot read the secret ${join(directory, name)}: ${messageOf(error)}. It must be readable for the user of this process.`,
      {
        cause: error,
      },
    );
  }
}

function whatIsMissing(name: string, env: NodeJS.ProcessEnv): string {
  const directory = env['SECRETS_DIR'];
  return directory
    ? `${name} is neither a file in ${directory} (SECRETS_DIR) nor set in the environment; defaults do not count there`
    : `the environment variable ${name} is not set and has no default`;
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
