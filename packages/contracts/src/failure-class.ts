/**
 * Who has to do something about a failure: `us` (this deployment and its configuration), `network` (names and paths
 * between here and there), `subscriber` (whoever runs the destination, an ERP too).
 */
export type Blame = 'us' | 'network' | 'subscriber';

interface Explanation {
  readonly blame: Blame;
  /** One sentence (seldom two) for the person who reads it. */
  readonly remedy: string;
}

const us = (remedy: string): Explanation => ({ blame: 'us', remedy });
const network = (remedy: string): Explanation => ({ blame: 'network', remedy });
const subscriber = (remedy: string): Explanation => ({ blame: 'subscriber', remedy });

/**
 * Why an attempt failed, whose turn it is and what to do. Append only: the names are in records, metrics and alert
 * rules. Names that begin with `timeout_` make a gate lower its cap. docs/outcomes.md repeats this table.
 */
export const FAILURE_CLASSES = {
  timeout_queue: us(
    'All connections allowed to that host were busy until the timeout: the host is slow, so lower its in-flight cap or raise its timeout.',
  ),
  timeout_dns: network(
    'The name was not resolved in time: check the resolver that this process asks, and the name servers of the domain.',
  ),
  timeout_connect: network(
    'The endpoint did not accept a connection in time: check that it is up and reachable from here.',
  ),
  timeout_tls: subscriber(
    'The endpoint accepted a connection but did not finish the TLS handshake in time: check that it speaks TLS on this port.',
  ),
  timeout_request: subscriber(
    'The endpoint stopped reading before the request was whole: look at the receiver, or raise its timeout for large events.',
  ),
  timeout_response: subscriber(
    'The endpoint accepted the request but did not answer in time: acknowledge first and work afterwards, or raise its timeout.',
  ),
  dns_not_found: subscriber('The host name does not exist: correct the URL or the DNS record.'),
  dns_temporary: network(
    'The name could not be resolved just now: check the resolver; it is retried while attempts are left.',
  ),
  tls_certificate: subscriber(
    'The certificate is not valid for this host: renew it or install the full chain.',
  ),
  tls_protocol: subscriber(
    'No TLS connection could be agreed on: the endpoint must speak TLS 1.2 or newer on this port.',
  ),
  connection_refused: subscriber(
    'Nothing listens at that address and port: start the receiver or correct the URL.',
  ),
  connection_reset: subscriber(
    'The connection was closed before an answer: look at the receiver and at proxies in between.',
  ),
  network: network('The network path failed: check routing and firewalls between here and the endpoint.'),
  http_auth: subscriber(
    'The receiver refused the credentials (401, 403): the secret or the credentials do not match.',
  ),
  http_gone: subscriber(
    'The receiver answered 410: it asks for nothing more. Remove the endpoint or correct its URL.',
  ),
  http_429: subscriber('The receiver asks to slow down (429): lower its rate limit or its in-flight cap.'),
  http_4xx: subscriber(
    'The receiver refused the request: read its answer, correct receiver or URL, then replay.',
  ),
  http_5xx: subscriber(
    'The receiver failed: read its answer and its logs; it is retried while attempts are left.',
  ),
  http_redirect: subscriber('Redirects are not followed: register the final URL.'),
  http_other: subscriber(
    'The answer has a status that is neither success nor a known failure: check what answers at that URL.',
  ),
  blocked_address: subscriber(
    'The address or port is private, reserved or not allowed by the egress configuration: register a public URL, or allow the range (egress.allow).',
  ),
  protocol: subscriber(
    'The answer is not valid HTTP, or its headers are beyond measure: check that the URL points to an HTTP server.',
  ),
  interrupted: us(
    'The process that made this attempt stopped before recording a result; the attempt is repeated.',
  ),
  erp_rejected: subscriber(
    'The ERP refuses the document as it is: read its words, correct the data or the mapping, then replay.',
  ),
  erp_unknown: subscriber(
    'The ERP may or may not have applied the document: it is looked up before anything is posted again.',
  ),
  erp_conflict: us(
    'The ERP holds a document of another event under this reference: correct the reference mapping.',
  ),
  mapping: us(
    'The mapping from event to document failed before any call: correct the mapping or the event, then replay.',
  ),
  lookup_failed: subscriber(
    'The ERP did not answer the look-up, so nothing was posted: check the ERP; it is retried while attempts are left.',
  ),
  not_found: subscriber(
    'The final look-up found no document at the ERP: nothing was posted. Fix the cause, then replay.',
  ),
  configuration: us('The destination is not configured here any more: restore it, or resolve the delivery.'),
  internal: us('Breakwater itself failed before sending: see its log; the attempt is repeated.'),
} as const satisfies Record<string, Explanation>;

export type FailureClass = keyof typeof FAILURE_CLASSES;

const isFailureClass = (name: string): name is FailureClass => Object.hasOwn(FAILURE_CLASSES, name);

export const remedyFor = (failureClass: string): string =>
  isFailureClass(failureClass) ? FAILURE_CLASSES[failureClass].remedy : 'No remedy is known for this class.';

/** Whose turn it is; undefined for a class that this version does not know. */
export const blameFor = (failureClass: string): Blame | undefined =>
  isFailureClass(failureClass) ? FAILURE_CLASSES[failureClass].blame : undefined;
