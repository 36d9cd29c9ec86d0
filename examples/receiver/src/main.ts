import { readFileSync } from 'node:fs';
import { startReceiver } from './app.ts';

const { PORT, HOST, WEBHOOK_SECRET, WEBHOOK_SECRET_FILE, INBOX_FILE } = process.env;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const secrets = (WEBHOOK_SECRET_FILE ? readFileSync(WEBHOOK_SECRET_FILE, 'utf8') : (WEBHOOK_SECRET ?? ''))
  .split(',')
  .map((secret) => secret.trim())
  .filter(Boolean);
if (secrets.length === 0) {
  process.stderr.write(
    'Set WEBHOOK_SECRET to the secret of your endpoint (whsec_…; two, separated by a comma, during a rotation), or WEBHOOK_SECRET_FILE to a file of it.\n',
  );
  process.exit(1);
}

const port = Number(PORT || 8070);
try {
  const receiver = await startReceiver({
    host: HOST || '127.0.0.1',
    port,
    secrets,
    inboxFile: INBOX_FILE || '.data/receiver/inbox.ndjson',
    onEvent: (message) => print(`working on ${message.id}: ${message.body}`), // your work goes here
    log: print,
  });
  print(`receiving webhooks on port ${receiver.port}`);
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => void receiver.close());
  }
} catch (error) {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  process.stderr.write(
    isTaken ? `Port ${port} is already in use: stop what uses it, or set PORT.\n` : `${String(error)}\n`,
  );
  process.exitCode = 1;
}
