import { createHmac, randomUUID } from 'node:crypto';
import { DEMO_WEBHOOK_SECRET, type StackSettings, portsOf, reachable } from './settings.ts';

/** What a person sees when the stack is ready: where everything is, and commands that work as printed. */
export function renderBanner(settings: StackSettings): string {
  const ports = portsOf(settings);
  const url = (port: number): string => `http://${reachable(settings.host)}:${port}`;
  const offset = settings.portOffset === 0 ? '' : `PORT_OFFSET=${settings.portOffset} `;
  return `
Breakwater is ready. Ctrl-C stops everything; the data stays in ${settings.dataDir}.

  webhooks        ${url(ports.ingest)}    POST /webhooks/demo-payments
  publishing      ${url(ports.ingest)}    POST /v1/events (described at /v1/openapi.json)
  admin API       ${url(ports.console)}    /api/v1 (described at /api/v1/openapi.json)
  ERP simulator   ${url(ports.simulator)}    /api/stats, /api/receipts, /api/faults
  fleet's ledger  ${url(ports.consoleOps)}/metrics
  Redis           redis://127.0.0.1:${ports.redis}
  /livez /readyz /metrics of
    ingest ${url(ports.ingestOps)}    dispatcher ${url(ports.dispatcherOps)}
    erp-consumer ${url(ports.erpConsumerOps)}    console ${url(ports.consoleOps)}

kill -9 any of the processes named above: it is back within moments, and the numbers stay exact.

Send an event. Send it twice: the second answer says "deduped":true, and the ERP gets one receipt.

${signedCurl(`${url(ports.ingest)}/webhooks/demo-payments`, settings.webhookSecret)}

The same with an id and a signature of your own:

${opensslCurl(`${url(ports.ingest)}/webhooks/demo-payments`)}

See what the ERP got:  curl ${url(ports.simulator)}/api/stats
Replay the storm:      ${offset}npm run storm
An endpoint to try:    npm run receiver, which says what it needs; see examples/receiver/README.md
The command line:      ${offset}npm run cli -- --help
The admin API:         curl -H "authorization: Bearer \${ADMIN_TOKEN:-demo-admin-token}" ${url(ports.console)}/api/v1/stats

By default only warnings are shown here. Start with other settings:
  every attempt        ${offset}LOG_LEVEL=info npm start
  retries in seconds   ${offset}RETRY_SCHEDULE=0s,2s,5s,10s,20s,40s npm start
`;
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
