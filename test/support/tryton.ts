import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Guard, startGuard } from '@breakwater/local-stack/guard';
import { freePort } from './free-port.ts';
import { testUnless } from './test-unless.ts';

const run = promisify(execFile);

/** Installs and starts a real Tryton; kept beside the repository, since it is no part of the product. */
const SCRIPT = join(import.meta.dirname, '../../../shared/tools/tryton-up.sh');

/** Why no Tryton can be started here; undefined when one can. */
export const noTryton: string | undefined = (() => {
  if (!existsSync(SCRIPT)) return 'there is no ../shared/tools/tryton-up.sh beside the repository';
  if (process.getuid?.() !== 0) return 'Tryton is installed and started as root only';
  if (!existsSync('/usr/bin/trytond') && !existsSync('/usr/bin/apt-get'))
    return 'Tryton is not installed, and there is no apt-get to install it';
  return undefined;
})();

const declare = testUnless(noTryton);

/** A test that needs a Tryton. It makes some 5 receipts a second on a machine of its own, and far fewer on a busy one. */
export const onTryton = (title: string, body: () => Promise<void>, timeoutMs = 180_000): void =>
  declare(title, body, timeoutMs);

export interface Tryton extends AsyncDisposable {
  /** Root of the server, without the database. */
  readonly url: string;
  readonly database: string;
  readonly login: string;
  readonly password: string;
  readonly adminPassword: string;
  /** Kills the application server as a crash would, and starts it again. */
  readonly crash: () => Promise<void>;
  readonly sql: (statement: string) => Promise<string>;
}

/**
 * A real Tryton with a PostgreSQL of its own and the demonstration's data. The first one on a machine takes about 40 s;
 * later ones restore its dump.
 */
export async function startTryton(): Promise<Tryton> {
  const home = mkdtempSync(join(tmpdir(), 'breakwater-tryton-'));
  const [port, pgPort] = [await freePort(), await freePort()];
  const env = {
    PATH: process.env['PATH'],
    TZ: 'UTC', // PostgreSQL keeps the zone that it was initialised in, and Tryton its instants without one
    ERP_HOME: home,
    ERP_PORT: String(port),
    ERP_PG_PORT: String(pgPort),
    ERP_DUMP: join(tmpdir(), 'breakwater-tryton.sql.gz'),
  };
  const script = async (command: string): Promise<Map<string, string>> => {
    const { stdout } = await run('bash', [SCRIPT, command], { env });
    return new Map(
      stdout.split('\n').map((line) => [line.split('=', 1)[0] ?? '', line.replace(/^[^=]*=/, '')]),
    );
  };
  const guard: Guard = startGuard();
  let watched: number[] = [];
  const up = async (): Promise<Map<string, string>> => {
    const settings = await script('up');
    for (const pid of watched) guard.forget(pid);
    const postgres = readFileSync(join(home, 'pg/postmaster.pid'), 'utf8').split('\n', 1)[0];
    watched = [Number(settings.get('ERP_PID')), Number(postgres)];
    watched.forEach((pid, stage) => guard.watch(pid, stage === 0 ? 2 : 1));
    return settings;
  };
  const close = async (): Promise<void> => {
    await script('destroy').catch(() => undefined);
    for (const pid of watched) guard.forget(pid);
    guard.close();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    let settings = await up();
    const setting = (name: string): string => settings.get(name) ?? '';
    return {
      url: `http://127.0.0.1:${port}/`,
      database: setting('ERP_DATABASE'),
      login: setting('ERP_USER'),
      password: setting('ERP_PASSWORD'),
      adminPassword: setting('ERP_ADMIN_PASSWORD'),
      async crash() {
        process.kill(Number(setting('ERP_PID')), 'SIGKILL');
        settings = await up();
      },
      async sql(statement) {
        const uri = setting('ERP_DATABASE_URI');
        return (
          await run('psql', ['-X', '-At', '-v', 'ON_ERROR_STOP=1', '-c', statement, uri])
        ).stdout.trim();
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
