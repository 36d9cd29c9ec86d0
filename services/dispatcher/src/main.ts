import { serviceMain } from '@breakwater/runtime/service-main';
import { start } from './app.ts';

process.exit(
  await serviceMain(
    process.env,
    {
      name: 'dispatcher',
      port: 0,
      opsPort: 9101,
      shutdownTimeoutMs: 45_000, // an endpoint may take 30 s
    },
    start,
  ),
);
