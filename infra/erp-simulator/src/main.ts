import { processMain } from '@breakwater/runtime/service-main';
import { startSimulator } from './app.ts';

const DEFAULT_PORT = 8090;

process.exitCode = await processMain(
  process.env,
  {
    name: 'erp-simulator',
    shutdownTimeoutMs: 5_000, // closing takes half a second at most
  },
  async (environment, { defer, logger }) => {
    const dataFile = process.env['ERP_SIMULATOR_DATA'];
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
