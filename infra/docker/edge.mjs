// The one published port of all replicas of ingest: hands each connection to a replica that takes it, bytes unchanged.
//
// A published port belongs to one container, and from a range the engine gives a container another port at every start; so
// neither lets replicas be added or restarted behind an address that stays. TLS, limits for strangers and the like are a real
// proxy's: docs/operations.md has one in front of this.
import { connect, createServer } from 'node:net';
import { lookup } from 'node:dns/promises';

const [host, port] = process.env.UPSTREAM.split(':');
const CONNECT_MS = 500;
/** Below the 2 s within which ingest promises an honest answer. */
const GIVE_UP_MS = 1500;
const RETRY_MS = 100;
const BODY = '{"ok":false,"error":{"code":"unavailable","message":"No ingest takes connections now."}}';
const UNAVAILABLE = [
  'HTTP/1.1 503 Service Unavailable',
  'retry-after: 5',
  'content-type: application/json',
  'connection: close',
  `content-length: ${BODY.length}`,
  '',
  BODY,
].join('\r\n');

let turn = 0;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A connection to one replica; undefined when it does not take one. */
function tryOne(address) {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port: Number(port), allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => socket.destroy(), CONNECT_MS);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.once('close', () => resolve(undefined));
    socket.on('error', () => undefined); // 'close' follows
  });
}

/** A connection to any replica, one after the other in turn; undefined when none took one in time. */
async function findReplica(client) {
  const deadline = Date.now() + GIVE_UP_MS;
  while (!client.destroyed) {
    const replicas = await lookup(host, { all: true, family: 4 }).catch(() => []);
    turn += 1;
    for (let index = 0; index < replicas.length; index += 1) {
      const socket = await tryOne(replicas[(turn + index) % replicas.length].address);
      if (socket) return socket;
    }
    if (Date.now() > deadline) return undefined;
    await pause(RETRY_MS);
  }
  return undefined;
}

const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, async (client) => {
  client.on('error', () => client.destroy());
  const replica = await findReplica(client);
  if (!replica) return void client.end(UNAVAILABLE, () => client.destroy());
  replica.on('error', () => replica.destroy());
  client.once('close', () => replica.destroy());
  replica.once('close', () => client.destroy());
  client.pipe(replica);
  replica.pipe(client);
});
server.maxConnections = 4000;
server.listen(Number(process.env.PORT), '0.0.0.0', () =>
  console.log(`passing port ${process.env.PORT} on to ${process.env.UPSTREAM}`),
);
// Connections that are open may be between two requests for ever; what is under way takes a moment.
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  setTimeout(() => process.exit(0), 3000).unref();
});
