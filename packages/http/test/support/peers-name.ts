import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { createGuardedClient } from '../../src/egress.ts';
import { type AnswerDns, NXDOMAIN, REFUSED, SERVFAIL, withDnsServer } from './dns-server.ts';
import { type Ask, HANG_MS, type Peer } from './peers.ts';
import { type Certificate, post, rawServer, withClient, withServer } from './servers.ts';

/** Requests to a name of which a name server says this, and to a server that answers 200 where it leads there. */
const named =
  (answer: AnswerDns, rest: Parameters<typeof post>[1] = {}, allow: readonly string[] = ['127.0.0.0/8']) =>
  async (ask: Ask): Promise<void> =>
    withDnsServer(answer, async (resolver) =>
      withServer(
        createServer((_request, response) => response.end('ok')),
        async (port) =>
          withClient(
            async (client) => ask(post(0, { url: `http://receiver.example:${port}/`, ...rest }), client),
            createGuardedClient({ allow, allowHttp: true, resolvers: [resolver] }),
          ),
      ),
    );

export const NAME_PEERS: readonly Peer[] = [
  {
    what: 'its name does not exist (NXDOMAIN)',
    outcome: 'dns_not_found',
    sent: 'no',
    meet: named(() => NXDOMAIN),
  },
  { what: 'its name has no address', outcome: 'dns_not_found', sent: 'no', meet: named(() => ({})) },
  {
    what: 'its name server fails (SERVFAIL)',
    outcome: 'dns_temporary',
    sent: 'no',
    meet: named(() => SERVFAIL),
  },
  {
    what: 'its name server refuses (REFUSED)',
    outcome: 'dns_temporary',
    sent: 'no',
    meet: named(() => REFUSED),
  },
  {
    what: 'its name server does not answer',
    outcome: 'timeout_dns',
    sent: 'no',
    meet: named(() => 'silence', { timeoutMs: HANG_MS }),
  },
  {
    what: 'its name server is slow',
    outcome: 'sent',
    meet: named(() => ({ addresses: ['127.0.0.1'], delayMs: 300 })),
  },
  {
    what: 'its name server never answers questions for IPv6',
    outcome: 'sent',
    meet: named((_name, type) => (type === 'A' ? { addresses: ['127.0.0.1'] } : 'silence')),
  },
  {
    what: 'its name leads to a private address',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => ({ addresses: ['127.0.0.1'] }), {}, []),
  },
  {
    what: 'its name leads to public and to private addresses',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => ({ addresses: ['93.184.216.34', '127.0.0.1'] }), {}, []),
  },
  {
    what: 'its URL has a private address',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => 'silence', { url: 'http://[::ffff:169.254.169.254]/' }),
  },
  {
    what: 'its URL has a refused port',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => 'silence', { url: 'http://receiver.example:25/' }),
  },
];

/** TLS peers; `valid` is trusted for receiver.example, `old` for old.example. */
export const tlsPeers = (
  certificates: () => Readonly<Record<'valid' | 'old' | 'stranger', Certificate>>,
): readonly Peer[] => {
  const serving =
    (whose: 'valid' | 'old' | 'stranger', name: string, options: TlsOptions = {}) =>
    async (ask: Ask): Promise<void> => {
      const answer = createTlsServer({ ...certificates()[whose], ...options }, (_request, response) =>
        response.end('ok'),
      );
      await withDnsServer(
        () => ({ addresses: ['127.0.0.1'] }),
        async (resolver) =>
          withServer(answer, async (port) =>
            withClient(
              async (client) => ask(post(0, { url: `https://${name}:${port}/` }), client),
              createGuardedClient({ allow: ['127.0.0.0/8'], allowHttp: false, resolvers: [resolver] }),
            ),
          ),
      );
    };
  const tlsTo =
    (act: (socket: Socket) => void, timeoutMs = 5_000) =>
    async (ask: Ask): Promise<void> =>
      withServer(rawServer(act).server, async (port) =>
        ask(post(0, { url: `https://127.0.0.1:${port}/`, timeoutMs })),
      );
  // OpenSSL serves TLS 1.1 only at its lowest level of security.
  const ancient: TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
  return [
    {
      what: 'speaks TLS with a valid certificate',
      outcome: 'sent',
      meet: serving('valid', 'receiver.example'),
    },
    {
      what: 'has a certificate for another host',
      outcome: 'tls_certificate',
      sent: 'no',
      meet: serving('valid', 'other.example'),
    },
    {
      what: 'has an expired certificate',
      outcome: 'tls_certificate',
      sent: 'no',
      meet: serving('old', 'old.example'),
    },
    {
      what: 'has a self-signed certificate',
      outcome: 'tls_certificate',
      sent: 'no',
      meet: serving('stranger', 'receiver.example'),
    },
    {
      what: 'speaks TLS 1.1 at most',
      outcome: 'tls_protocol',
      sent: 'no',
      meet: serving('valid', 'receiver.example', ancient),
    },
    {
      what: 'speaks plain HTTP where TLS is expected',
      outcome: 'tls_protocol',
      sent: 'no',
      meet: tlsTo((socket) => socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')),
    },
    {
      what: 'closes in the middle of the TLS handshake',
      outcome: 'connection_reset',
      sent: 'no',
      meet: tlsTo((socket) => socket.destroy()),
    },
    {
      what: 'says nothing in the TLS handshake',
      outcome: 'timeout_tls',
      sent: 'no',
      meet: tlsTo(() => {}, HANG_MS),
    },
    {
      what: 'speaks TLS where plain HTTP is sent',
      outcome: 'connection_reset',
      sent: 'maybe',
      meet: async (ask) => withServer(createTlsServer(certificates().valid), async (port) => ask(post(port))),
    },
  ];
};
