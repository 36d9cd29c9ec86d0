/**
 * Why an attempt failed, and one sentence of remedy for the person who reads it. Append only: the names are in records,
 * metrics and alert rules.
 */
export const FAILURE_CLASSES = {
  timeout_connect:
    'The endpoint did not accept a connection in time: check that it is up and reachable from here.',
  timeout_response:
    'The endpoint accepted the request but did not answer in time: acknowledge first and work afterwards, or raise its timeout.',
  dns_not_found: 'The host name does not exist: correct the URL or the DNS record.',
  dns_temporary: 'The name could not be resolved just now: check the resolver; the delivery is retried.',
  tls_certificate: 'The certificate is not valid for this host: renew it or install the full chain.',
  tls_protocol:
    'No TLS connection could be agreed on: the endpoint must speak TLS 1.2 or newer on this port.',
  connection_refused: 'Nothing listens at that address and port: start the receiver or correct the URL.',
  connection_reset:
    'The connection was closed before an answer: look at the receiver and at proxies in between.',
  network: 'The network path failed: check routing and firewalls between here and the endpoint.',
  http_auth: 'The receiver refused the credentials (401, 403): the secret or the credentials do not match.',
  http_gone: 'The receiver answered 410: it asks for nothing more. Remove the endpoint or correct its URL.',
  http_429: 'The receiver asks to slow down (429): lower its rate limit or its in-flight cap.',
  http_4xx: 'The receiver refused the request: read its answer, correct receiver or URL, then replay.',
  http_5xx: 'The receiver failed: read its answer and its logs; the delivery is retried.',
  http_redirect: 'Redirects are not followed: register the final URL.',
  http_other:
    'The answer has a status that is neither success nor a known failure: check what answers at that URL.',
  blocked_address: 'The address is private or reserved and not allowed by the egress configuration.',
  protocol: 'The answer is not valid HTTP: check that the URL points to an HTTP server.',
  interrupted:
    'The process that made this attempt stopped before recording a result; the attempt is repeated.',
  erp_rejected:
    'The ERP refuses the document as it is: read its words, correct the data or the mapping, then replay.',
  erp_unknown:
    'The ERP may or may not have applied the document: it is looked up before anything is posted again.',
  erp_conflict:
    'The ERP holds a document of another event under this reference: correct the reference mapping.',
  mapping:
    'The mapping from event to document failed before any call: correct the mapping or the event, then replay.',
  lookup_failed:
    'The ERP did not answer the look-up, so nothing was posted: check the ERP; the delivery is retried.',
  not_found:
    'The final look-up found no document at the ERP: nothing was posted. Fix the cause, then replay.',
  configuration: 'The destination is not configured here any more: restore it, or resolve the delivery.',
  internal: 'Breakwater itself failed before sending: see its log; the attempt is repeated.',
} as const satisfies Record<string, string>;

export type FailureClass = keyof typeof FAILURE_CLASSES;

export function remedyFor(failureClass: string): string {
  return Object.hasOwn(FAILURE_CLASSES, failureClass)
    ? String(Reflect.get(FAILURE_CLASSES, failureClass))
    : 'No remedy is known for this class.';
}
