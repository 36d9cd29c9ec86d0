import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { messageOf } from '@breakwater/runtime/errors';
import { closeServer, listen } from '@breakwater/runtime/listen';
import type { Logger } from '@breakwater/runtime/logger';
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import { z } from 'zod';
import { Erp, type PostingOutcome } from './erp.ts';
import { Faults } from './faults.ts';
import { GoodsReceipt, receiptNumber } from './receipt.ts';
import { ReceiptBook } from './receipt-book.ts';

export interface SimulatorOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** NDJSON file that keeps the receipts across restarts; without it they live in memory. */
  readonly dataFile?: string;
  readonly logger: Logger;
  /** Decides latencies and faults; gives [0, 1). `Math.random` by default. */
  readonly random?: () => number;
}

export interface Simulator {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Clients keep connections open; one that the server closes just as it is used again would look like a lost posting. */
const KEEP_ALIVE_MS = 65_000;
const CLOSE_GRACE_MS = 500; // waiting postings end at once; this is for a request that is only half there

const ReceiptQuery = z.strictObject({
  external_reference: z.string().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  after: z
    .string()
    .transform((text, context) => {
      const number = receiptNumber(text);
      if (number !== undefined) return number;
      context.addIssue({ code: 'custom', message: 'expected a receipt number such as GR-000001' });
      return z.NEVER;
    })
    .default(0),
});

/**
 * Starts the simulated ERP. Throws AppError port_taken when the port is in use, config_invalid when the data file is not
 * one of ours. `close` breaks the connections of postings that are still waiting; those are never applied. It may be called again.
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const book = new ReceiptBook(options.dataFile, options.logger);
  const erp = new Erp(book, options.random ?? Math.random);
  const held = new HeldSockets();
  const server = createServer(buildApp({ book, erp, held, logger: options.logger }));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  try {
    const port = await listen(server, options.port, options.host);
    const closeAll = async (): Promise<void> => {
      erp.stop();
      held.release();
      await closeServer(server, CLOSE_GRACE_MS);
      book.close();
    };
    let closed: Promise<void> | undefined;
    return { port, close: () => (closed ??= closeAll()) };
  } catch (error) {
    book.close();
    throw error;
  }
}

/** Sockets of postings that are never answered. */
class HeldSockets {
  readonly #sockets = new Set<Socket>();

  hold(socket: Socket): void {
    if (socket.destroyed) return; // its client gave up before: no `close` would ever take it out again
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  release(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

interface Parts {
  readonly book: ReceiptBook;
  readonly erp: Erp;
  readonly held: HeldSockets;
  readonly logger: Logger;
}

function buildApp(parts: Parts): Express {
  const { book, erp, held, logger } = parts;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Before the body is read: an ERP that is down reads nothing.
  app.use('/api/receipts', (request, _response, next) => {
    if (erp.faults.down) request.socket.destroy();
    else next();
  });
  app.use(express.json({ limit: '1mb', type: () => true }));

  app.post('/api/receipts', async (request, response) => {
    const document = parseOr400(GoodsReceipt, request.body, response);
    if (!document) return;
    logger.debug({ reference: document.external_reference }, 'posting arrived');
    const outcome = await erp.post(document);
    logPosting(logger, document, outcome);
    answerPosting(outcome, request, response, held);
  });
  app.get('/api/receipts', (request, response) => {
    const query = parseOr400(ReceiptQuery, request.query, response);
    if (!query) return;
    if (erp.drawError()) {
      answerError(response, 500, INJECTED_ERROR);
      return;
    }
    const { external_reference: reference, after, limit } = query;
    response.json({ receipts: reference === undefined ? book.page(after, limit) : book.find(reference) });
  });
  app.delete('/api/receipts', (_request, response) => {
    book.clear();
    response.status(204).end();
  });
  app.delete('/api/receipts/:receiptNo', (request, response) => {
    const { receiptNo } = request.params;
    if (!book.cancel(receiptNo)) return answerError(response, 404, `There is no receipt ${receiptNo}.`);
    logger.info({ receiptNo }, 'cancelled');
    response.status(204).end();
  });
  app.get('/api/stats', (_request, response) => void response.json(book.stats()));
  app.get('/api/faults', (_request, response) => void response.json(erp.faults));
  app.put('/api/faults', (request, response) => {
    const faults = parseOr400(Faults, request.body, response);
    if (!faults) return;
    erp.replaceFaults(faults);
    held.release();
    logger.info({ faults }, 'faults replaced');
    response.json(faults);
  });
  app.use((request, response) => {
    answerError(response, 404, `There is no ${request.method} ${request.path} here.`);
  });
  app.use(errorHandler(logger));
  return app;
}

const INJECTED_ERROR = 'Internal error (errorRate): nothing was applied.';

function answerPosting(
  outcome: PostingOutcome,
  request: Request,
  response: Response,
  held: HeldSockets,
): void {
  switch (outcome.kind) {
    case 'created':
      response.status(201).json({ receipt_no: outcome.receipt.receipt_no });
      return;
    case 'refused':
      response.status(409).json({
        error: `external_reference ${outcome.first.external_reference} already has a receipt.`,
        receipt_no: outcome.first.receipt_no,
      });
      return;
    case 'error':
      answerError(response, 500, INJECTED_ERROR);
      return;
    case 'hung':
      held.hold(request.socket);
      return;
    case 'answer_lost':
    case 'down':
      request.socket.destroy();
  }
}

function logPosting(logger: Logger, document: GoodsReceipt, outcome: PostingOutcome): void {
  const applied = outcome.kind === 'created' || outcome.kind === 'answer_lost';
  const facts = applied ? { receiptNo: outcome.receipt.receipt_no, duplicate: outcome.duplicate } : {};
  const { external_reference: reference, order_id: orderId, warehouse } = document;
  logger.info({ outcome: outcome.kind, ...facts, reference, orderId, warehouse }, 'posting');
}

/** The parsed value, or undefined after the mistakes were answered. */
function parseOr400<T>(schema: z.ZodType<T>, value: unknown, response: Response): T | undefined {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  answerError(response, 400, z.prettifyError(result.error));
  return undefined;
}

function answerError(response: Response, status: number, error: string): void {
  response.status(status).json({ error });
}

/** Errors of the body parser carry the status to answer; anything else is a fault of the simulator (a full disk). */
function errorHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const status = z.object({ status: z.int().min(400).max(499) }).safeParse(error).data?.status ?? 500;
    if (status === 500) logger.error({ err: error }, 'request failed');
    answerError(response, status, messageOf(error));
  };
}
