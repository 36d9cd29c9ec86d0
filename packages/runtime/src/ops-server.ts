import { createServer } from 'node:http';
import express from 'express';
import type { Registry } from 'prom-client';
import { messageOf } from './errors.ts';
import { closeServer, listen } from './listen.ts';

export interface OpsOptions {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  /** Reasons why the process is not ready; empty when it is. Must not throw and must be quick. */
  readonly notReady: () => readonly string[];
}

export interface OpsServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Serves `/livez`, `/readyz` and `/metrics` on a port of its own, so that probes never compete with the work. */
export async function startOpsServer(options: OpsOptions): Promise<OpsServer> {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/livez', (_request, response) => void response.json({ ok: true }));
  app.get('/readyz', (_request, response) => {
    const reasons = options.notReady();
    response.status(reasons.length === 0 ? 200 : 503).json({ ok: reasons.length === 0, reasons });
  });
  app.get('/metrics', async (_request, response) => {
    try {
      const text = await options.registry.metrics();
      response.type(options.registry.contentType).send(text);
    } catch (error) {
      response
        .status(500)
        .type('text/plain')
        .send(`metrics could not be collected: ${messageOf(error)}\n`);
    }
  });
  const server = createServer(app);
  const port = await listen(server, options.port, options.host);
  return { port, close: () => closeServer(server, 1_000) };
}
