import { type IncomingMessage, createServer } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { Inbox, type Message } from './inbox.ts';
import { Worker } from './worker.ts';

export interface ReceiverOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** `whsec_…` as the sender shows it. More than one during a rotation: a message signed with any of them is accepted. */
  readonly secrets: readonly string[];
  readonly inboxFile: string;
  /** The work. It runs after the answer and must be idempotent by `message.id`. */
  readonly onEvent?: (message: Message) => Promise<void> | void;
  readonly log?: (line: string) => void;
}

const MAX_BODY_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 15_000; // a message is small: whoever takes longer to send it never will
const CLOSE_GRACE_MS = 2_000; // a request takes one flush to disk

/** Starts the receiver. Throws when a secret is malformed, the inbox cannot be used or the port is taken. */
export async function startReceiver(
  options: ReceiverOptions,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const webhooks = options.secrets.map(createWebhook);
  if (webhooks.length === 0) throw new Error('At least one secret is needed.');
  const log = options.log ?? (() => undefined);
  const inbox = await Inbox.open(options.inboxFile);
  const worker = options.onEvent && new Worker(inbox, options.onEvent, log);
  const server = createServer(buildApp({ webhooks, inbox, worker, log }));
  server.requestTimeout = REQUEST_TIMEOUT_MS;

  const close = async (): Promise<void> => {
    if (server.listening) {
      const closed = new Promise((resolve) => server.close(resolve));
      const deadline = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
      await closed;
      clearTimeout(deadline);
    }
    await worker?.close();
    await inbox.close();
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(options.port, options.host, resolve);
    });
  } catch (error) {
    await close();
    throw error;
  }
  const address = server.address();
  return { port: typeof address === 'object' && address ? address.port : options.port, close };
}

interface Parts {
  readonly webhooks: readonly Webhook[];
  readonly inbox: Inbox;
  readonly worker: Worker | undefined;
  readonly log: (line: string) => void;
}

function buildApp(parts: Parts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.post('/webhooks', (request, response) => receive(parts, request, response));
  // For demonstrations: ids are no secret to you, but they are nobody else's business either.
  app.get('/events', (_request, response) => void response.json({ events: parts.inbox.list() }));
  return app;
}

/** Verify, commit, answer: in this order, and nothing else. */
async function receive(
  { webhooks, inbox, worker, log }: Parts,
  request: Request,
  response: Response,
): Promise<void> {
  const bytes = await readBody(request);
  if (!bytes) return refuse(response, 413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);

  const id = request.get('webhook-id') ?? '';
  if (!webhooks.some((webhook) => isAuthentic(webhook, id, bytes, request))) {
    return refuse(
      response,
      401,
      'The signature does not match, or the timestamp is more than 5 minutes off.',
    );
  }
  const message = { id, body: bytes.toString('utf8') };
  if (!isJson(message.body)) return refuse(response, 400, 'The body is not JSON.');

  let outcome: 'committed' | 'duplicate';
  try {
    outcome = await inbox.commit(message);
  } catch (error) {
    log(`${id} could not be committed: ${String(error)}`);
    return refuse(response, 503, 'The message could not be stored: send it again later.');
  }
  if (outcome === 'committed') worker?.add(message);
  response.json({ ok: true, duplicate: outcome === 'duplicate' });
}

/** The exact bytes of the body, since it is them that were signed; undefined as soon as they are too many. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // Left open on return: destroying the request would break the connection before the answer is sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Checks signature (in constant time) and timestamp (so that a captured request is worth nothing after 5 minutes). */
function isAuthentic(webhook: Webhook, id: string, bytes: Buffer, request: Request): boolean {
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': request.get('webhook-timestamp') ?? '',
    'webhook-signature': request.get('webhook-signature') ?? '',
  };
  try {
    webhook.verify(bytes, headers, { jsonParse: false });
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

function createWebhook(secret: string): Webhook {
  try {
    return new Webhook(secret);
  } catch (error) {
    // The secret itself stays out of the message: it would end up in a log.
    throw new Error('A webhook secret is malformed: expected whsec_ and base64, as the sender shows it.', {
      cause: error,
    });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function refuse(response: Response, status: number, error: string): void {
  response.status(status).json({ ok: false, error });
}
