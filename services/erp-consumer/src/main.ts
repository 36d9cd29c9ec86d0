import { serviceMain } from '@breakwater/runtime/service-main';
import { start } from './app.ts';

process.exit(
  await serviceMain(
    process.env,
    {
      name: 'erp-consumer',
      port: 0,
      opsPort: 9102,
      shutdownTimeoutMs: 75_000, // a look-up read twice and a post: 50 s with the default time-outs
    },
    start,
  ),
);
