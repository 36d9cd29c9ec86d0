import { type AccessToken, parseScope, TOKEN_TTL } from '@breakwater/contracts/access-token';
import { formatDuration, parseDurationMs } from '@breakwater/contracts/duration';
import { printable } from '@breakwater/core/printable';
import { createToken, listTokens, revokeToken } from '@breakwater/core/tokens';
import { TOKEN_CACHE_MS } from '@breakwater/core/token-reader';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { checkReason, dryRunOption, yesOption } from '../options.ts';
import { renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';
import { withStore } from '../store-access.ts';

/** `tokens create|list|revoke`: who may use the admin API, and who may publish. */
export function tokensCommand(program: Command, context: CliContext): void {
  const tokens = program.command('tokens').description('tokens of the admin API and of publishing');
  tokens
    .command('create')
    .description('make a token; prints its value, which is not shown again')
    .requiredOption('--name <text>', 'who or what uses it; the audit log names it')
    .addOption(
      new Option('--scope <scope>', 'admin, operator:<id>, read, read:<id>, publish or publish:<id>')
        .argParser(parseScopeText)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--expires-in <duration>', 'when it ends by itself; `never` is possible')
        .argParser(parseExpiry)
        .default(TOKEN_TTL.defaultMs, formatDuration(TOKEN_TTL.defaultMs)),
    )
    .addOption(dryRunOption())
    .action(context.action((options: CreateOptions) => create(context, options)));
  tokens
    .command('list')
    .description('every token, without its value; those that have ended stay for 90 days')
    .action(context.action(() => list(context)));
  tokens
    .command('revoke')
    .description(`end a token now: within ${TOKEN_CACHE_MS / 1_000} s no service takes it any more`)
    .argument('<id>')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(context.action((id: string, options: RevokeOptions) => revoke(context, id, options)));
}

interface CreateOptions {
  readonly name: string;
  readonly scope: string;
  /** Null: never. */
  readonly expiresIn: number | null;
  readonly dryRun?: boolean;
}

interface RevokeOptions {
  readonly reason: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

function parseScopeText(text: string): string {
  if (parseScope(text)) return text;
  throw new InvalidArgumentError('Expected admin, operator:<id>, read, read:<id>, publish or publish:<id>.');
}

function parseExpiry(text: string): number | null {
  if (text === 'never') return null;
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < TOKEN_TTL.minMs || ms > TOKEN_TTL.maxMs)
    throw new InvalidArgumentError(
      `Expected a duration from 1s to ${formatDuration(TOKEN_TTL.maxMs)} such as 90d, or never.`,
    );
  return ms;
}

async function create(context: CliContext, { name, scope, expiresIn, dryRun }: CreateOptions): Promise<void> {
  const { token, value } = await withStore(context, (store) =>
    createToken(store, { name, scope, expiresInMs: expiresIn }, context.actor, dryRun ? { dryRun } : {}),
  );
  if (dryRun) {
    const { id: _id, createdAt: _createdAt, ...shown } = token;
    return context.print(
      { dryRun: true, ...shown },
      () => `A token of scope ${token.scope} would be made. Nothing was changed.`,
    );
  }
  context.print({ ...token, value }, () =>
    [
      `${token.id} of scope ${token.scope}, ${ends(token, context.io.now())}`,
      '',
      value,
      'It is shown this once, and stored nowhere: hand it over, and revoke it when it is lost.',
    ].join('\n'),
  );
}

const ends = ({ expiresAt }: AccessToken, now: number): string =>
  expiresAt === null ? 'never expires' : `expires ${formatTime(expiresAt, now)}`;

async function list(context: CliContext): Promise<void> {
  const tokens = await withStore(context, listTokens);
  const now = context.io.now();
  context.print({ tokens, nextOffset: null }, () =>
    tokens.length === 0
      ? 'No token was made. Those of the configuration (adminToken, publishToken) are not listed.'
      : renderTable(
          [
            { title: 'TOKEN' },
            { title: 'STATE' },
            { title: 'SCOPE' },
            { title: 'NAME', max: 40 },
            { title: 'LAST USED' },
            { title: 'EXPIRES' },
          ],
          tokens.map((each) => [
            each.id,
            each.state,
            each.scope,
            each.name,
            each.lastUsedAt === null ? 'never' : formatTime(each.lastUsedAt, now),
            each.expiresAt === null ? 'never' : formatTime(each.expiresAt, now),
          ]),
        ),
  );
}

async function revoke(
  context: CliContext,
  id: string,
  { reason, dryRun, yes }: RevokeOptions,
): Promise<void> {
  const { token, changed } = await withStore(context, async (store) => {
    const input = { id, reason: checkReason(reason), actor: context.actor };
    const rehearsed = await revokeToken(store, input, { dryRun: true });
    if (dryRun || !rehearsed.changed) return rehearsed;
    const { name, scope } = rehearsed.token;
    await context.confirm(`Revoke ${id} (${name}, ${scope})? Whoever uses it is refused from then on.`, yes);
    return revokeToken(store, input);
  });
  context.print({ ok: true, ...(dryRun && { dryRun }), changed, token }, () => {
    const what = `${id} (${printable(token.name)})`;
    if (!changed) return `${what} was revoked before; nothing to do.`;
    return dryRun
      ? `${what} would be revoked. Nothing was changed.`
      : `${what} is revoked. Within ${TOKEN_CACHE_MS / 1_000} s no service takes it any more.`;
  });
}
