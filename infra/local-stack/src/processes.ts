import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { pause } from '@breakwater/runtime/poll';
import type { Guard } from './guard.ts';

/** How a process ended. `error` when it could not even be started. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

export interface Child {
  readonly name: string;
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  readonly exited: Promise<Exit>;
  readonly isRunning: () => boolean;
  /** Its last lines, oldest first. */
  readonly tail: () => readonly string[];
  /** SIGTERM; after `timeoutMs`, or as soon as `now` is aborted, SIGKILL. */
  readonly stop: (timeoutMs: number, now?: AbortSignal) => Promise<Exit>;
  readonly kill: () => Promise<Exit>;
}

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly onLine?: (line: string) => void;
  readonly guard: Guard;
  /** See Guard.watch. */
  readonly stage: number;
}

const TAIL_LINES = 40; // a stack trace and what was printed before it, or a configuration with many mistakes

/**
 * Starts a process in a group of its own: Ctrl-C in the terminal reaches only the parent, which then stops its children
 * in order. The guard stops them if the parent cannot.
 */
export function spawnChild(options: ChildOptions): Child {
  const { name, guard, stage } = options;
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) guard.watch(child.pid, stage);

  const lines: string[] = [];
  const read = (input: NodeJS.ReadableStream): Promise<void> => {
    const ended = Promise.withResolvers<void>();
    createInterface({ input, crlfDelay: Infinity })
      .on('line', (line) => {
        lines.push(line);
        if (lines.length > TAIL_LINES) lines.shift();
        options.onLine?.(line);
      })
      .once('close', ended.resolve);
    return ended.promise;
  };
  const output = Promise.all([read(child.stdout), read(child.stderr)]);

  const exited = Promise.withResolvers<Exit>();
  let running = child.pid !== undefined;
  child.once('error', (error) => exited.resolve({ code: null, signal: null, error }));
  child.once('exit', (code, signal) => {
    running = false;
    if (child.pid !== undefined) guard.forget(child.pid);
    // Its last lines may still be in the pipe. A grandchild may hold the pipe open for ever, so not without a bound.
    const drained = new AbortController();
    void (async () => {
      await Promise.race([output, pause(500, drained.signal)]);
      drained.abort(); // else the timer would keep this process alive
      exited.resolve({ code, signal });
    })();
  });

  const kill = (): Promise<Exit> => {
    child.kill('SIGKILL');
    return exited.promise;
  };
  const stop = async (timeoutMs: number, now?: AbortSignal): Promise<Exit> => {
    child.kill('SIGTERM');
    const gone = new AbortController();
    void exited.promise.then(() => gone.abort());
    await pause(timeoutMs, now ? AbortSignal.any([gone.signal, now]) : gone.signal);
    return running ? kill() : exited.promise;
  };
  return {
    name,
    pid: child.pid,
    exited: exited.promise,
    isRunning: () => running,
    tail: () => lines,
    stop,
    kill,
  };
}

/** "code 1", "signal SIGKILL" or why it could not start. */
export function describeExit(exit: Exit): string {
  if (exit.error) return exit.error.message;
  return exit.signal === null ? `code ${exit.code}` : `signal ${exit.signal}`;
}

export type Readiness =
  | { readonly kind: 'ready' }
  | { readonly kind: 'exited'; readonly exit: Exit }
  | { readonly kind: 'late'; readonly last: string }
  | { readonly kind: 'cancelled' };

/**
 * Asks `probe` (undefined: ready; else why not) every 100 ms until it is satisfied, the child ends, `timeoutMs` have
 * passed or `signal` is aborted.
 */
export async function waitReady(
  child: Child,
  probe: () => Promise<string | undefined>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Readiness> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    if (signal?.aborted === true) return { kind: 'cancelled' };
    if (!child.isRunning()) return { kind: 'exited', exit: await child.exited };
    const last = await probe();
    if (last === undefined) return { kind: 'ready' };
    if (Date.now() > deadline) return { kind: 'late', last };
    await pause(100, signal);
  }
}

/** Undefined when GET `url` answers 200, else what it did instead. */
export function probeHttp(url: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  // No agent: an idle keep-alive socket would delay the exit of this process.
  const request = get(url, { agent: false, timeout: 2_000 }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      if (body.length < 500) body += text;
    });
    response.once('error', () => resolve(`${url} broke off`));
    response.once('end', () =>
      resolve(
        response.statusCode === 200
          ? undefined
          : `${url} answered ${response.statusCode} ${body.slice(0, 500)}`,
      ),
    );
  });
  request.once('timeout', () => request.destroy(new Error('no answer within 2 s')));
  request.once('error', (error) => resolve(`${url}: ${error.message}`));
  return promise;
}
