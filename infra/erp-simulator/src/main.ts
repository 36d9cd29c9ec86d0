import { readEnvironment } from '@breakwater/runtime/environment';
import { createLogger } from '@breakwater/runtime/logger';
import { runService } from '@breakwater/runtime/service';
import { startSimulator } from './app.ts';

const DEFAULT_PORT = 8090;
const SHUTDOWN_TIMEOUT_MS = 5_000; // closing takes half a second at most

const name = 'erp-simulator';
const environment = readEnvironment(process.env);
const dataFile = process.env['ERP_SIMULATOR_DATA'];
const logger = createLogger({ service: name, level: environment.LOG_LEVEL, pretty: environment.LOG_PRETTY });

process.exitCode = await runService(
  { name, logger, shutdownTimeoutMs: environment.SHUTDOWN_TIMEOUT_MS ?? SHUTDOWN_TIMEOUT_MS },
  async ({ defer }) => {
    const simulator = await startSimulator({
      host: environment.HOST,
      port: environment.PORT ?? DEFAULT_PORT,
      logger,
      ...(dataFile === undefined || dataFile === '' ? {} : { dataFile }),
    });
    defer('simulator', simulator.close);
    logger.info({ host: environment.HOST, port: simulator.port, dataFile }, 'listening');
  },
);
