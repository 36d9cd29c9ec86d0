// node scripts/run.mjs <file.ts> [arguments]: installs what is missing, then runs the file on Node 24.
// Plain JavaScript for any Node from 16 on, because it is what a fresh clone starts with.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './child.mjs';
import { InstallError, ensureInstalled } from './install.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function main([file, ...args]) {
  if (!file || !existsSync(join(root, file))) {
    console.error(
      file ? `There is no ${file} in ${root}.` : 'Usage: node scripts/run.mjs <file.ts> [arguments]',
    );
    return 2;
  }
  // stderr, so that the output of `npm run cli -- ... --json` stays JSON.
  const node = await ensureInstalled(root, (line) => console.error(line));
  const { code, output } = await runChild(node, [join(root, file), ...args]);
  if (output) console.error(output);
  return code;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  console.error(error.message);
  process.exitCode = error.exitCode;
}
