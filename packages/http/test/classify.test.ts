import { expect, test } from '@jest/globals';
import { failureClassOfError, failureClassOfStatus } from '../src/classify.ts';

test.each([
  [401, 'http_auth'],
  [403, 'http_auth'],
  [404, 'http_4xx'],
  [409, 'http_4xx'],
  [410, 'http_gone'],
  [429, 'http_429'],
  [500, 'http_5xx'],
  [599, 'http_5xx'],
  [301, 'http_redirect'],
  [304, 'http_redirect'],
  [101, 'http_other'],
  [600, 'http_other'],
  [0, 'http_other'],
])('status %i is %s', (status, name) => {
  expect(failureClassOfStatus(status)).toBe(name);
});

test.each([
  ['ENOTFOUND', 'dns_not_found'],
  ['EAI_AGAIN', 'dns_temporary'],
  ['EAI_FAIL', 'dns_temporary'],
  ['ECONNREFUSED', 'connection_refused'],
  ['ECONNRESET', 'connection_reset'],
  ['EHOSTUNREACH', 'network'],
  ['ENETUNREACH', 'network'],
  ['CERT_HAS_EXPIRED', 'tls_certificate'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_certificate'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_certificate'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_protocol'],
  ['EPROTO', 'tls_protocol'],
  ['HPE_INVALID_CONSTANT', 'protocol'],
  ['ERR_ADDRESS_BLOCKED', 'blocked_address'],
  ['EMFILE', 'internal'],
  ['ETIMEDOUT', 'timeout_connect'],
  ['ETIMEOUT', 'timeout_dns'],
  ['ERR_INVALID_CHAR', 'internal'],
  ['', 'internal'],
  ['constructor', 'internal'],
])('%s before anything was written is %s', (code, name) => {
  expect(failureClassOfError(code, 'connecting')).toBe(name);
});

test('what happens after the request was written is never blamed on us', () => {
  expect(failureClassOfError('ETIMEDOUT', 'written')).toBe('timeout_response');
  expect(failureClassOfError('', 'written')).toBe('network');
});
