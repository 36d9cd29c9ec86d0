import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { type Document, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import type { Environment } from './environment.ts';
import { AppError, codeOf, messageOf } from './errors.ts';

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Reads the YAML file of the configuration: `${NAME}` and `${NAME:-default}` in strings are taken from the environment, else
 * from the file of that name in SECRETS_DIR, then everything is validated. Where SECRETS_DIR is set, defaults do not count: a
 * deployment that keeps its secrets in files must not run with one that everybody knows because a file is missing.
 * RETRY_SCHEDULE overrides the deployment's schedule, which endpoints and ERP targets without one of their own follow.
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
  const mistakes = unset.map(({ why, at }) => `✖ ${why}\n  → at ${at}`);
  if (issues.length > 0) mistakes.push(z.prettifyError({ issues }));
  if (mistakes.length > 0 || !result.success) throw invalid(path, mistakes);
  return result.data;
}

const invalid = (path: string, mistakes: readonly string[]): AppError =>
  new AppError('config_invalid', `${path} is not valid:\n${mistakes.join('\n')}`);

interface Unset {
  readonly name: string;
  readonly at: string;
  readonly why: string;
}

/** Puts the environment into the strings of a document. Returns what it could not fill in, with its place and the reason. */
function fillIn(document: Document, env: NodeJS.ProcessEnv): Unset[] {
  const unset: Unset[] = [];
  visit(document, {
    Scalar(key, node, ancestors) {
      if (typeof node.value !== 'string' || key === 'key') return;
      node.value = node.value.replaceAll(REFERENCE, (_match, name: string, fallback: string | undefined) => {
        const found = lookUp(env, name, fallback);
        if ('value' in found) return found.value;
        unset.push({ name, at: placeOf(ancestors, key), why: found.why });
        return '';
      });
    },
  });
  return unset;
}

type Found = { readonly value: string } | { readonly why: string };

function lookUp(env: NodeJS.ProcessEnv, name: string, fallback: string | undefined): Found {
  const set = env[name];
  if (set) return { value: set };
  const directory = env['SECRETS_DIR'];
  if (directory) return readSecret(directory, name);
  return fallback === undefined
    ? { why: `the environment variable ${name} is not set and has no default` }
    : { value: fallback };
}

/** UTF-8 or nothing: a replacement character in a secret would only show as signatures that never match. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The file of a secret, without what editors and shells add to the text: a byte order mark in front (the decoder drops it),
 * line ends behind.
 */
function readSecret(directory: string, name: string): Found {
  const path = join(directory, name);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      return {
        why: `cannot read the secret ${path}: ${messageOf(error)}. It must be readable for the user of this process`,
      };
    return {
      why: `${name} is neither a file in ${directory} (SECRETS_DIR) nor set in the environment; defaults do not count there`,
    };
  }
  try {
    const value = UTF_8.decode(bytes).replace(/[\r\n]+$/, '');
    return value === '' ? { why: `the secret ${path} is empty` } : { value };
  } catch {
    return { why: `the secret ${path} is not UTF-8 text (UTF-16 perhaps?): write it again as plain text` };
  }
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
