import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from '../src/program.ts';

const root = new URL('../../../', import.meta.url);
const RUNBOOKS = new URL('docs/runbooks/', root);
const RULES = new URL('infra/prometheus/rules/breakwater.rules.yml', root);

/** Commands as a person would copy them: of code spans and blocks, or of an annotation up to the end of its sentence. */
function commandsOf(text: string, annotation: boolean): string[] {
  const flat = text.replaceAll(/\{\{ \$labels\.\w+ \}\}/g, 'x').replaceAll(/\n\s+(?=--)/g, ' ');
  const found = annotation
    ? flat.matchAll(/breakwater ([a-z-]+ [^,\n']*?)(?:, or)?\s*(?=,|\n|'|$)/g)
    : flat.matchAll(/(?:^\s*|`)breakwater ([a-z][^\n`]*)/gm);
  return [...found].map(([, words = '']) => words.trim());
}

const wordsOf = (command: string): string[] =>
  (command.replaceAll(/<[^>]+>/g, 'x').match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));

/** Parses as the real program does, and runs nothing. */
async function parses(command: string): Promise<string> {
  const { program } = createProgram({
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    stderrIsTty: false,
    stdinIsTty: false,
    env: {},
    user: 'tester',
    signal: new AbortController().signal,
    now: Date.now,
  });
  const silence = (each: Command): void => {
    each.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
    if (each.commands.length === 0) each.action(() => undefined);
    each.commands.forEach(silence);
  };
  silence(program);
  try {
    await program.parseAsync(wordsOf(command), { from: 'user' });
    return 'ok';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return code === 'commander.helpDisplayed' ? 'ok' : message;
  }
}

test('every command that an alert or a runbook names is one that the command line takes', async () => {
  const texts = readdirSync(RUNBOOKS).map((file): [string, string[]] => [
    file,
    commandsOf(readFileSync(new URL(file, RUNBOOKS), 'utf8'), false),
  ]);
  texts.push(['alert rules', commandsOf(readFileSync(RULES, 'utf8'), true)]);
  const judged: { where: string; command: string; says: string }[] = [];
  for (const [where, commands] of texts)
    for (const command of commands) judged.push({ where, command, says: await parses(command) });
  expect(judged.filter(({ says }) => says !== 'ok')).toEqual([]);
  expect(judged.length).toBeGreaterThan(40);
  expect(judged.filter(({ where }) => where === 'alert rules').length).toBeGreaterThan(8);
});
