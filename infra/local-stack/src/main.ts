import { resolve } from 'node:path';
import { AppError } from '@breakwater/runtime/errors';
import { renderBanner } from './banner.ts';
import { ensureRedisServer } from './redis-binary.ts';
import { checkConfiguration, planServices, portsOf, readSettings } from './settings.ts';
import { runStack } from './stack.ts';
import { stackControl } from './terminal.ts';

const root = resolve(import.meta.dirname, '../../..');
const EXIT_USAGE = 2; // as of every Breakwater command

/** `npm start`: an embedded Redis, the ERP simulator and all services, until Ctrl-C. */
async function main(): Promise<number> {
  const control = stackControl(process);
  const args = process.argv.slice(2);
  if (args.length > 0) {
    control.say(
      `npm start takes no arguments, and was given ${args.join(' ')}. Its settings are environment variables, written in ` +
        'front: PORT_OFFSET=100 npm start.',
    );
    return EXIT_USAGE;
  }
  try {
    const settings = readSettings(process.env, root);
    // Pretty logs look for a terminal, which the pipe between a service and this process is not.
    const colour = process.stdout.isTTY && !process.env['NO_COLOR'] ? { FORCE_COLOR: '1' } : {};
    const services = planServices(settings, { ...process.env, ...colour }, root);
    const sources = checkConfiguration(services); // before Redis may be installed
    const plan = {
      dataDir: settings.dataDir,
      host: settings.host,
      redisPort: portsOf(settings).redis,
      redisBinary: ensureRedisServer(process, control.say),
      services,
      banner: renderBanner(settings, { sources, configFile: process.env['BREAKWATER_CONFIG'] || undefined }),
    };
    return await runStack(plan, control);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    control.say(error.message);
    return 1;
  }
}

process.exitCode = await main();
