import { createHmac, randomUUID } from 'node:crypto';
import { DEMO_WEBHOOK_SECRET, type StackSettings, portsOf, reachable } from './settings.ts';

/** The source of the demonstration, which the sample events and the storm are of. */
const DEMO_SOURCE = 'demo-payments';

/** What `npm start` runs besides the settings of its own. */
export interface Running {
  /** Names of the configured sources. */
  readonly sources: readonly string[];
  /** The configuration file, where it is not the demonstration's. */
  readonly configFile?: string | undefined;
}

/** What a person sees when the stack is ready: where everything is, and commands that work as printed. */
export function renderBanner(settings: StackSettings, { sources, configFile }: Running): string {
  const ports = portsOf(settings);
  const url = (port: number): string => `http://${reachable(settings.host)}:${port}`;
  const offset = settings.portOffset === 0 ? '' : `PORT_OFFSET=${settings.portOffset} `;
  const ours = configFile === undefined ? '' : `BREAKWATER_CONFIG=${configFile} `;
  const paths = sources.map((name) => `/webhooks/${name}`);
  return `
Breakwater is ready. Ctrl-C stops everything; the data stays in ${settings.dataDir}.

  webhooks        ${url(ports.ingest)}    ${paths.length === 0 ? 'no sources are configured' : `POST ${paths.join(', ')}`}
  publishing      ${url(ports.ingest)}    POST /v1/events (described at /v1/openapi.json)
  console         ${url(ports.console)}    sign in with ${configFile === undefined ? 'ADMIN_TOKEN, by default demo-admin-token' : 'the adminToken, or one of: npm run cli -- tokens create'}
  admin API       ${url(ports.console)}    /api/v1 (described at /api/v1/openapi.json)
  ERP simulator   ${url(ports.simulator)}    /api/stats, /api/receipts, /api/faults
  fleet's ledger  ${url(ports.consoleOps)}/metrics
  Redis           redis://127.0.0.1:${ports.redis}
  /livez /readyz /metrics of
    ingest ${url(ports.ingestOps)}    dispatcher ${url(ports.dispatcherOps)}
    erp-consumer ${url(ports.erpConsumerOps)}    console ${url(ports.consoleOps)}

kill -9 any of the processes named above: it is back within moments, and the numbers stay exact.

${sources.includes(DEMO_SOURCE) ? demonstration(settings, offset) : ofYourOwn(offset + ours)}
An endpoint to try:    npm run receiver, which says what it needs; see examples/receiver/README.md
The command line:      ${offset}${ours}npm run cli -- --help

By default only warnings are shown here. Start with other settings:
  every attempt        ${offset}${ours}LOG_LEVEL=info npm start
  retries in seconds   ${offset}${ours}RETRY_SCHEDULE=0s,2s,5s,10s,20s,40s npm start
`;
}

/** For a configuration without the demonstration's source: its samples would be answered with 404. */
const ofYourOwn = (prefix: string): string =>
  `Point a provider at the URL of its source; docs/providers says what to set there. When something is refused:

${prefix}npm run cli -- quarantine list
${prefix}npm run cli -- verify --source <name> --request captured.http
`;

function demonstration(settings: StackSettings, offset: string): string {
  const ports = portsOf(settings);
  const url = (port: number): string => `http://${reachable(settings.host)}:${port}`;
  const target = `${url(ports.ingest)}/webhooks/${DEMO_SOURCE}`;
  return `Send an event. Send it twice: the second answer says "deduped":true, and the ERP gets one receipt.

${signedCurl(target, settings.webhookSecret)}

The same with an id and a signature of your own:

${opensslCurl(target)}

See what the ERP got:  curl ${url(ports.simulator)}/api/stats
Replay the storm:      ${offset}npm run storm`;
}

const sample = (eventId: string): string =>
  `{"event_id":"${eventId}","type":"order.paid","order_id":"ord-1","warehouse":"W1","lines":[{"sku":"MILK-1L","quantity":2}]}`;

/** One POSIX shell command with the signature already computed; contains no secret. */
export function signedCurl(url: string, secret: string, eventId = `evt_${randomUUID()}`): string {
  const body = sample(eventId);
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return `curl ${url} -H 'content-type: application/json' -H 'x-signature: sha256=${signature}' --data-binary '${body}'`;
}

/**
 * One line that makes an id and signs in the shell. It names the variable of the secret rather than its value, which
 * must not end up in a terminal's history. sed: versions of openssl differ in what they print before the digest.
 */
export function opensslCurl(url: string): string {
  const body = sample('evt_\'"$(date +%s)"\'');
  const digest = `printf %s "$body" | openssl dgst -sha256 -hmac "\${DEMO_WEBHOOK_SECRET:-${DEMO_WEBHOOK_SECRET}}" | sed 's/^.* //'`;
  return `body='${body}'; curl ${url} -H 'content-type: application/json' -H "x-signature: sha256=$(${digest})" --data-binary "$body"`;
}
