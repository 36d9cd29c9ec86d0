import { serviceMain } from '@breakwater/runtime/service-main';
import { start } from './app.ts';

process.exit(
  await serviceMain(
    process.env,
    {
      name: 'console',
      port: 8081,
      opsPort: 9103,
      shutdownTimeoutMs: 10_000, // nothing here takes long
    },
    start,
  ),
);
