import { serviceMain } from '@breakwater/runtime/service-main';
import { start } from './app.ts';

process.exit(
  await serviceMain(
    process.env,
    {
      name: 'ingest',
      port: 8_080,
      opsPort: 9_100,
      shutdownTimeoutMs: 9_000, // below the 10 s after which container runtimes kill, above the grace of the server
    },
    start,
  ),
);
