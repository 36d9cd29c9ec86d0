import { formatDuration } from '@breakwater/contracts/duration';
import { getEndpoint } from '@breakwater/core/destination-gates';
import { openEndpoint } from '@breakwater/core/endpoint-secrets';
import { checkEndpointUrl } from '@breakwater/core/endpoint-rules';
import { printable } from '@breakwater/core/printable';
import { type EndpointTest, testEndpoint } from '@breakwater/core/test-endpoint';
import { createGuardedClient } from '@breakwater/http/egress';
import { createSecretBox } from '@breakwater/store/secret-box';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { dryRunOption } from '../options.ts';
import { renderFields } from '../output/table.ts';
import { withDeliveries, withStore } from '../store-access.ts';

export function testCommand(endpoints: Command, context: CliContext): void {
  endpoints
    .command('test')
    .description(
      'send one signed request of type breakwater.test from here, as deliveries are sent; no event or delivery is made',
    )
    .argument('<id>')
    .addOption(dryRunOption())
    .action(context.action((id: string, options: { dryRun?: boolean }) => test(context, id, options)));
}

async function test(context: CliContext, id: string, { dryRun }: { dryRun?: boolean }): Promise<number> {
  const config = context.config();
  const { operator } = context.globals();
  const secrets = createSecretBox(config.encryptionKeys);
  if (dryRun)
    return withStore(context, async ({ redis, keys }) => {
      const endpoint = await getEndpoint(redis, keys, operator, id);
      checkEndpointUrl(config, endpoint.url);
      await openEndpoint(redis, secrets, endpoint);
      context.print(
        { ok: true, dryRun, id, url: endpoint.url },
        () => `One request would be sent to ${printable(endpoint.url)}. Nothing was sent.`,
      );
      return EXIT.ok;
    });
  return withDeliveries(context, async (deliveries) => {
    const client = createGuardedClient(config.egress, config.samples);
    try {
      const result = await testEndpoint(
        { ...deliveries, client, secrets, signal: context.io.signal },
        { operator, id, actor: context.actor },
      );
      const { endpoint, ...told } = result;
      context.print({ id, url: endpoint.url, ...told }, () => render(result));
      return result.ok ? EXIT.ok : EXIT.failure;
    } finally {
      client.close();
    }
  });
}

function render({ endpoint, ok, resumed, code, durationMs, sample, testId, ...why }: EndpointTest): string {
  const fields: [string, string][] = [
    ['url', endpoint.url],
    ['result', ok ? 'accepted' : why.class],
    ['answer', code || '-'],
    ['took', formatDuration(durationMs)],
    ['webhook-id', testId],
  ];
  if (resumed) fields.push(['pause', 'it had been paused because it failed for too long; that is over']);
  if (why.message !== '') fields.push(['message', why.message]);
  if (why.remedy !== '') fields.push(['remedy', why.remedy]);
  if (sample)
    fields.push([
      `sample (${sample.contentType || 'no type'}${sample.truncated ? ', cut' : ''})`,
      sample.text,
    ]);
  return renderFields(fields);
}
