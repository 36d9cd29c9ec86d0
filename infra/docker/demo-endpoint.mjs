// Profile `demo`: subscribes the example receiver, once.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const URL_OF_RECEIVER = 'http://receiver:8070/webhooks';
const secret = readFileSync(join(process.env.SECRETS_DIR, 'DEMO_RECEIVER_SECRET'), 'utf8');

function cli(...args) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['packages/cli/src/main.ts', ...args, '--json'],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`${args[0]} ${args[1]} failed:\n${stderr}`);
  return JSON.parse(stdout);
}

const { endpoints } = cli('endpoints', 'list');
if (endpoints.some(({ url }) => url === URL_OF_RECEIVER)) {
  console.log('the example receiver is subscribed already');
} else {
  cli('endpoints', 'add', '--url', URL_OF_RECEIVER, '--source', 'demo-payments', '--secret', secret);
  console.log('subscribed the example receiver');
}
