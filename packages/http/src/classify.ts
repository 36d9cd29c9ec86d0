import type { FailureClass } from '@breakwater/contracts/failure-class';
import { ADDRESS_BLOCKED } from './agents.ts';
import { type Phase, timeoutIn } from './phase.ts';
import { RESOLVER_TIMEOUT } from './resolver.ts';

/** The code of an answer that never comes for all its 1xx ones. */
export const TOO_MANY_INTERIM = 'ERR_TOO_MANY_INTERIM_ANSWERS';

/** Codes of node, libuv and OpenSSL, by exact name; families of codes follow below. */
const CLASS_OF_CODE: Readonly<Record<string, FailureClass>> = {
  [ADDRESS_BLOCKED]: 'blocked_address',
  ENOTFOUND: 'dns_not_found',
  ENODATA: 'dns_not_found',
  [RESOLVER_TIMEOUT]: 'timeout_dns',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_reset',
  ERR_SOCKET_CLOSED: 'connection_reset',
  ERR_STREAM_PREMATURE_CLOSE: 'connection_reset',
  EPROTO: 'tls_protocol',
  ERR_INVALID_URL: 'protocol',
  [TOO_MANY_INTERIM]: 'protocol',
  // Our own limits, not the peer's doing.
  EMFILE: 'internal',
  ENFILE: 'internal',
  ENOBUFS: 'internal',
  ENOMEM: 'internal',
};

/**
 * Names of X.509 verification results, as node passes them on from OpenSSL (doc/api/tls.md, "X509 certificate error
 * codes"), and of node's own host name check.
 */
const CERTIFICATE =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_C|HOSTNAME_MISMATCH$|INVALID_(CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$|ERR_TLS_CERT_)/;

/** The class of a request that got no status. `code` is the code of the innermost error. */
export function failureClassOfError(code: string, phase: Phase): FailureClass {
  const known = Object.hasOwn(CLASS_OF_CODE, code) ? CLASS_OF_CODE[code] : undefined;
  if (known) return known;
  if (code === 'ETIMEDOUT') return timeoutIn(phase, true).class;
  if (code.startsWith('EAI_')) return 'dns_temporary';
  if (CERTIFICATE.test(code)) return 'tls_certificate';
  if (/^ERR_(SSL|TLS|OSSL)_/.test(code)) return 'tls_protocol';
  if (code.startsWith('HPE_')) return 'protocol';
  if (phase === 'written') return 'network';
  // Unreachable hosts and networks, firewalls; what is left never came from the network.
  return /^E[A-Z]+$/.test(code) ? 'network' : 'internal';
}

/** The class of a status that is no success. */
export function failureClassOfStatus(status: number): FailureClass {
  if (status === 401 || status === 403) return 'http_auth';
  if (status === 410) return 'http_gone';
  if (status === 429) return 'http_429';
  if (status >= 300 && status < 400) return 'http_redirect';
  if (status >= 400 && status < 500) return 'http_4xx';
  if (status >= 500 && status < 600) return 'http_5xx';
  return 'http_other';
}
