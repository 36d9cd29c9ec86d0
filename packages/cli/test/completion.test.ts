import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testUnless } from '../../../test/support/test-unless.ts';

const run = promisify(execFile);
const MAIN = new URL('../src/main.ts', import.meta.url).pathname;
const dir = mkdtempSync(join(tmpdir(), 'breakwater-completion-'));
const env = { PATH: `${dir}:${process.env['PATH'] ?? ''}`, HOME: dir, REDIS_URL: 'redis://127.0.0.1:1' };
beforeAll(async () => {
  const path = join(dir, 'breakwater');
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(path, 0o755);
  writeFileSync(join(dir, 'bash.sh'), (await run('breakwater', ['completion', 'bash'], { env })).stdout);
}, 60_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What bash offers where Tab is pressed at the end of this line. */
async function offered(line: string): Promise<string[]> {
  // As bash breaks it: at "=" and ":" too.
  const words = line
    .split(' ')
    .flatMap((word) =>
      word === '' ? [''] : word.split(/([=:]+)/).filter((each, at) => at === 0 || each !== ''),
    )
    .map((word) => `'${word}'`);
  const script = [
    `source '${join(dir, 'bash.sh')}'`,
    `source '${join(dir, 'bash.sh')}' || exit 8`, // as a shell does that reads its settings again
    // As bash itself does: by the function that is registered for the command.
    '[[ $(complete -p breakwater) =~ -F[[:space:]]([^[:space:]]+) ]] || exit 9',
    `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}`,
    '"${BASH_REMATCH[1]}" 2>/dev/null',
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n');
  const { stdout } = await run('bash', ['--norc', '-c', script], { env, timeout: 60_000 });
  return stdout.split('\n').filter(Boolean).toSorted();
}

test('bash completes commands, options of the command and of all, and words that an option takes', async () => {
  expect(await offered('breakwater dead-letters ')).toEqual(
    expect.arrayContaining(['groups', 'list', 'replay', 'resolve']),
  );
  expect(await offered('breakwater dead-letters replay --ac')).toEqual(['--acknowledge-duplicates']);
  expect(await offered('breakwater deliveries list --js')).toEqual(['--json']);
  expect(await offered('breakwater deliveries list --status d')).toEqual(['dead_letter']);
  expect(await offered('breakwater deliveries list --status=d')).toEqual(['dead_letter']);
}, 120_000);

test('Tab runs nothing of what stands on the line, wherever it stands', async () => {
  const mark = join(dir, 'it-ran');
  const hostile = [`$(>${mark})`, `\`>${mark}\``, `;>${mark};`, `<(>${mark})`];
  for (const line of [
    `breakwater deliveries show ${hostile.join(' ')}`,
    `breakwater ${hostile.join(' ')} li`,
    `breakwater deliveries list --status=${hostile.join('')}=d`,
  ]) {
    await offered(line);
    expect([line, existsSync(mark)]).toEqual([line, false]);
  }
}, 120_000);

test('no script has the shell read words again, and none is offered for a shell where it would', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await run('breakwater', ['completion', shell], { env });
    const commands = stdout.split('\n').filter((line) => !line.trimStart().startsWith('#'));
    expect(commands.filter((line) => /\beval\b|compgen/.test(line))).toEqual([]);
  }
  await expect(run('breakwater', ['completion', 'powershell'], { env })).rejects.toMatchObject({ code: 2 });
}, 120_000);

test('an unknown shell is a mistake on the command line', async () => {
  await expect(run('breakwater', ['completion', 'tcsh'], { env })).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash'),
  });
}, 60_000);

for (const shell of ['zsh', 'fish'] as const) {
  const missing = await run(shell, ['-c', 'true']).then(
    () => undefined,
    () => `${shell} is missing: sudo apt-get install ${shell}`,
  );
  const testHere = testUnless(missing);
  testHere(
    `${shell} can read its script`,
    async () => {
      const { stdout } = await run('breakwater', ['completion', shell], { env });
      expect(stdout).toContain('breakwater complete --');
      const path = join(dir, `script.${shell}`);
      writeFileSync(path, stdout);
      await run(shell, ['-n', path], { env });
    },
    60_000,
  );
}
