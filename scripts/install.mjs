// Plain JavaScript for any Node from 16 on, without dependencies: this is what installs them.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { withLock } from './install-lock.mjs';

const NODE_MAJOR = 'v24.';
const INSTALL_TIMEOUT_MS = 15 * 60_000; // slow networks; a live owner that takes longer hangs

/** A sentence for a person; `exitCode` for the shell. */
export class InstallError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Makes sure that the dependencies in `root` are those of package-lock.json and returns the path of a Node 24 to run
 * Breakwater on. Touches no network when they are. `say` takes progress lines. Throws InstallError.
 */
export async function ensureInstalled(root, say) {
  const ready = installedNode(root);
  if (ready) return ready;
  const lock = join(root, '.data', 'install.lock'); // not in node_modules, which npm ci empties
  const onWait = (pid) => say(`waiting for process ${pid}, which is installing dependencies ...`);
  return withLock(lock, { timeoutMs: INSTALL_TIMEOUT_MS, onWait }, async () => {
    const meanwhile = installedNode(root);
    if (meanwhile) return meanwhile;
    await npmCi(root, say);
    const node = findNode(root);
    if (!node) throw new InstallError(nodeMissing(root));
    if (!process.version.startsWith(NODE_MAJOR)) await addWhatNeedsNode24(root, node);
    writeFileSync(stampPath(root), fingerprint(root));
    return node;
  });
}

/** The Node to use when everything is in place, else undefined. */
function installedNode(root) {
  const node = findNode(root);
  if (!node) return undefined;
  const expected = fingerprint(root);
  if (readText(stampPath(root)) === expected) return node;
  if (!npmRecordAgrees(root)) return undefined;
  writeFileSync(stampPath(root), expected);
  return node;
}

/** The stamp is written after success only, so a tree that was left half installed has none and is installed again. */
const stampPath = (root) => join(root, 'node_modules', '.breakwater-install');

function fingerprint(root) {
  const lockfile = readFileSync(join(root, 'package-lock.json'));
  return createHash('sha256').update(lockfile).update(`${process.platform}-${process.arch}`).digest('hex');
}

/**
 * True when npm's own record of what it installed, which it removes first and writes last, holds all of
 * package-lock.json: somebody ran `npm ci` by hand, and may be offline by now.
 */
function npmRecordAgrees(root) {
  const record = readText(join(root, 'node_modules', '.package-lock.json'));
  if (record === undefined) return false;
  try {
    const installed = JSON.parse(record).packages;
    const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
    return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
      if (path === '') return true;
      if (!installed[path]) return optional === true || devOptional === true; // of another platform
      return installed[path].version === version;
    });
  } catch {
    return false; // unreadable: as good as missing
  }
}

/** The `node` package's binary; this very Node where the binary cannot run (musl, for one) and this is a 24. */
function findNode(root) {
  const binary = join(
    root,
    'node_modules',
    'node',
    'bin',
    process.platform === 'win32' ? 'node.exe' : 'node',
  );
  const own = process.version.startsWith(NODE_MAJOR) ? process.execPath : undefined;
  if (!existsSync(binary)) return own;
  if (own && realpathSync(binary) === realpathSync(own)) return binary;
  const answer = spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  return answer.status === 0 && answer.stdout.startsWith(NODE_MAJOR) ? binary : own;
}

async function npmCi(root, say) {
  say('installing dependencies (about a minute the first time) ...');
  const [command, prefix] = findNpm();
  // dev: Node, Jest and the checkers are devDependencies, which NODE_ENV=production would leave out.
  const args = [...prefix, 'ci', '--include=dev', '--no-fund', '--no-audit'];
  const result = await runChild(command, args, {
    cwd: root,
    capture: true,
    shell: process.platform === 'win32',
  });
  if (result.interrupted)
    throw new InstallError(
      'The installation was interrupted; the next run starts it again.',
      result.code || 130,
    );
  if (result.code === 0) return;
  throw new InstallError(`${withoutEngineWarnings(result.output)}\n${describeFailure(result)}`);
}

/**
 * npm leaves out optional packages whose engines an older Node does not meet, in silence: the binaries of the formatter
 * and the linter are such. So npm runs once more, on the Node 24 that has just arrived, and adds them.
 */
async function addWhatNeedsNode24(root, node) {
  const [, prefix] = findNpm();
  if (prefix.length === 0) return; // an npm of another make; everything but the static checks works
  const args = [
    ...prefix,
    'install',
    '--no-save',
    '--ignore-scripts',
    '--include=dev',
    '--no-fund',
    '--no-audit',
  ];
  const result = await runChild(node, args, { cwd: root, capture: true });
  if (result.interrupted)
    throw new InstallError(
      'The installation was interrupted; the next run starts it again.',
      result.code || 130,
    );
  if (result.code !== 0)
    throw new InstallError(`${withoutEngineWarnings(result.output)}\n${describeFailure(result)}`);
}

/** npm's warnings that packages want a newer Node: true on every older one, and no reason, since Node 24 comes along. */
const withoutEngineWarnings = (output) => output.replace(/^npm warn EBADENGINE.*\r?\n?/gim, '');

function describeFailure({ code, signal }) {
  // A shell between us and npm reports 137 after SIGKILL. Other such codes are npm's own too (143: host unreachable).
  if (signal || code === 137) {
    return (
      `Dependencies could not be installed: npm ci was killed (${signal || 'SIGKILL'}). When nobody did that, the machine or the ` +
      'container has too little memory. Run the same command again.'
    );
  }
  return (
    `Dependencies could not be installed: npm ci ended with code ${code}, see above. ` +
    'Check that the npm registry is reachable (npm ping) and that there is space on the disk, then run the same command again.'
  );
}

/** npm as it runs this script, on the Node that it runs on: `node` on the PATH may be the one that npm ci removes. */
function findNpm() {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env;
  if (!cli || !/npm-cli\.c?js$/.test(cli) || !existsSync(cli)) return ['npm', []];
  return [node && existsSync(node) ? node : process.execPath, [cli]];
}

function nodeMissing(root) {
  return (
    'Dependencies are installed, but Breakwater needs Node 24 and the one from the npm package "node" does not run here ' +
    `(${join(root, 'node_modules', 'node', 'bin', 'node')}). If npm is set to ignore install scripts, run ` +
    '"npm rebuild node --ignore-scripts=false"; otherwise install Node 24 from https://nodejs.org and run the same command again.'
  );
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
