import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { type Finding, ok, problem, warning } from '@breakwater/core/doctor';
import { AppError } from '@breakwater/runtime/errors';
import type { CliContext } from '../context.ts';
import { blindTargets, checkWhatIsBuilt } from './config.ts';

/** What the demonstration's configuration falls back to. It is published with the product, so it protects nothing. */
const PUBLIC = {
  webhookSecret: 'demo-webhook-secret',
  publishToken: 'demo-publish-token',
  encryptionKey: 'YnJlYWt3YXRlci1kZW1vLWtleS1ub3QtYS1zZWNyZXQ=',
} as const;

/** Looks at the configuration: is it valid, and does it keep secrets that are none? Undefined where it cannot be used. */
export function examineConfig(context: CliContext): {
  readonly config: BreakwaterConfig | undefined;
  readonly findings: Finding[];
} {
  let config: BreakwaterConfig;
  try {
    config = context.config();
    checkWhatIsBuilt(config);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return {
      config: undefined,
      findings: [problem('configuration', error.message, 'Correct it: config check.')],
    };
  }
  const findings = [
    ok('configuration', `${context.environment().BREAKWATER_CONFIG} is valid`),
    ...blindTargets(config).map(({ target, warning: says }) =>
      warning(`exactly once at ${target}`, says, 'Give its adapter a way to look references up.'),
    ),
    ...ofEncryptionKeys(config),
    ...ofAdminToken(config),
    ...ofPublishTokens(config),
    ...ofWebhookSecrets(config),
  ];
  return { config, findings };
}

function ofEncryptionKeys({ encryptionKeys: keys }: BreakwaterConfig): Finding[] {
  const check = 'encryption keys';
  if (keys.length === 0)
    return [
      warning(
        check,
        'none is set: no endpoint can be registered',
        'Set ENCRYPTION_KEYS (openssl rand -base64 32).',
      ),
    ];
  // Bytes, not texts: base64 of one key may be written in several ways.
  const known = Buffer.from(PUBLIC.encryptionKey, 'base64');
  if (!keys.some((key) => Buffer.from(key, 'base64').equals(known))) return [];
  return [
    warning(
      check,
      'one is that of the demonstration, which everybody knows',
      'Put a new key in front of it in ENCRYPTION_KEYS (openssl rand -base64 32), restart the services, run secrets reencrypt, then take it out.',
    ),
  ];
}

function ofAdminToken({ adminToken }: BreakwaterConfig): Finding[] {
  const check = 'admin token';
  if (!adminToken)
    return [
      warning(
        check,
        'the configuration has none: only tokens made as data open the admin API',
        'Make one with tokens create --scope admin, or set ADMIN_TOKEN.',
      ),
    ];
  return adminToken.startsWith('demo-')
    ? [warning(check, 'it is the one of the demonstration, which everybody knows', 'Set ADMIN_TOKEN.')]
    : [];
}

function ofPublishTokens({ publishToken, publishTokens }: BreakwaterConfig): Finding[] {
  const places = [
    ...(publishToken === PUBLIC.publishToken ? ['publishToken'] : []),
    ...publishTokens.filter(({ value }) => value === PUBLIC.publishToken).map(({ id }) => id),
  ];
  if (places.length === 0) return [];
  return [
    warning(
      'publish token',
      `${places.join(', ')}: it is the one of the demonstration, with which everybody can publish`,
      'Set PUBLISH_TOKEN.',
    ),
  ];
}

const ofWebhookSecrets = ({ sources }: BreakwaterConfig): Finding[] =>
  Object.entries(sources).flatMap(([name, { secrets }]) => {
    const known = secrets.filter(({ value }) => value === PUBLIC.webhookSecret).map(({ id }) => id);
    if (known.length === 0) return [];
    return [
      warning(
        `secrets of ${name}`,
        `${known.join(', ')}: it is the one of the demonstration, with which everybody can sign`,
        'Set DEMO_WEBHOOK_SECRET, or take the source out.',
      ),
    ];
  });
