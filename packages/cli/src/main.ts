#!/usr/bin/env node
import { userInfo } from 'node:os';
import { withPortOffset } from './port-offset.ts';
import { runCli } from './run.ts';

const stopping = new AbortController();
// Once: a second Ctrl-C ends a command that does not listen.
process.once('SIGINT', () => stopping.abort());
process.once('SIGTERM', () => stopping.abort());
// `... | head` closes the pipe while we still write.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown'; // a container may run under a number that has no account
  }
}

const exitCode = await runCli(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stderrIsTty: process.stderr.isTTY,
  stdinIsTty: process.stdin.isTTY,
  env: withPortOffset(process.env),
  user: userName(),
  signal: stopping.signal,
  now: () => Date.now(),
});
// Everything is closed, but a connection that a dead Redis left behind must not keep the command from ending.
await new Promise((written) => process.stdout.write('', written));
process.exit(exitCode);
