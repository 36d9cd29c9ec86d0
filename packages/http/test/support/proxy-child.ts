/** Asks a URL twice: as node does by default, so that the environment is seen to work, and as Breakwater does. */
import { get } from 'node:http';
import { createHttpClient } from '../../src/client.ts';

const url = process.argv[2] ?? '';
await new Promise((done) => get(`${url}by-node`, (response) => response.resume().on('end', done)));
const client = createHttpClient({});
const outcome = await client.request({
  method: 'GET',
  url: `${url}by-us`,
  headers: {},
  timeoutMs: 5_000,
  maxBodyBytes: 100,
});
process.stdout.write(outcome.kind === 'response' ? outcome.body.toString() : JSON.stringify(outcome));
client.close();
