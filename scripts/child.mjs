// Plain JavaScript for any Node from 16 on: it also runs before the Node that Breakwater needs has been installed.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';

/** npm repeats a signal that the whole group received anyway; both copies arrive within a few milliseconds. */
const SAME_SIGNAL_MS = 500;
const PARENT_CHECK_MS = 500;

/**
 * Runs a program in the foreground and resolves when it has ended: `code` as a shell would give it (128 + n after
 * signal n), `signal` when it died of one, `output` when `capture` is set, `interrupted` when this process was told to
 * stop meanwhile.
 *
 * Signals: Ctrl-C in a terminal reaches the whole process group, so it must not be repeated to the child, for which a
 * second one means "at once". Without a terminal somebody signalled this process alone, perhaps: then the child gets
 * SIGTERM, which is harmless beside a SIGINT that it may have had itself. SIGTERM and SIGHUP are passed on as SIGTERM.
 * So is the death of the parent under npm: npm passes a SIGTERM to the shell it runs scripts in, and that shell dies of
 * it without telling us.
 */
export function runChild(command, args, options = {}) {
  const { capture = false, ...spawnOptions } = options;
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      ...spawnOptions,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) stream.setEncoding('utf8').on('data', (text) => (output += text));
    }
    const signals = passSignals(child);
    child.once('error', (error) => {
      signals.stop();
      resolve({
        code: 127,
        output: `${output}${command}: ${error.message}\n`,
        interrupted: signals.interrupted(),
      });
    });
    child.once('close', (code, signal) => {
      signals.stop();
      const killed = signals.first() || signal;
      const number = killed ? constants.signals[killed] : 1;
      resolve({
        code: signal ? 128 + number : code,
        signal: signal || undefined,
        output,
        interrupted: signals.interrupted(),
      });
    });
  });
}

function passSignals(child) {
  const terminal = [0, 1, 2].some((fd) => isatty(fd));
  let first;
  let lastInterruptAt = 0;
  const onInterrupt = () => {
    const repeated = Date.now() - lastInterruptAt < SAME_SIGNAL_MS;
    const again = first !== undefined && !repeated;
    first = first || 'SIGINT';
    lastInterruptAt = Date.now();
    if (terminal || repeated) return;
    // A signal to the group has reached the child by then, so that it sees SIGINT before our SIGTERM.
    setTimeout(() => child.kill(again ? 'SIGINT' : 'SIGTERM'), 100).unref();
  };
  const onTerminate = (signal) => {
    first = first || signal;
    child.kill('SIGTERM');
  };
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    onTerminate('SIGTERM');
  }, PARENT_CHECK_MS).unref();
  if (!process.env.npm_lifecycle_event) clearInterval(watch); // under nohup and the like, parents come and go
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onTerminate);
  process.on('SIGHUP', onTerminate);
  return {
    first: () => first,
    interrupted: () => first !== undefined,
    stop() {
      clearInterval(watch);
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onTerminate);
      process.off('SIGHUP', onTerminate);
    },
  };
}
