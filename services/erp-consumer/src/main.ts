import { serviceMain } from '@breakwater/runtime/service-main';
import { start } from './app.ts';

process.exit(
  await serviceMain(
    process.env,
    {
      name: 'erp-consumer',
      port: 0,
      opsPort: 9102,
      shutdownTimeoutMs: 75_000, // an attempt with the default time-outs and OAuth2: 70 s (timing.ts)
    },
    start,
  ),
);
