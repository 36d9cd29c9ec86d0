import { type LookupFunction, isIP } from 'node:net';
import { type AddressPolicy, createAddressPolicy } from './address-policy.ts';
import { type Agents, createAgents } from './agents.ts';
import { createHttpClient, type HttpClient, type HttpClientOptions } from './client.ts';
import { REFUSED_PORTS } from './refused-ports.ts';
import { createResolver } from './resolver.ts';
import { createSystemResolver } from './system-resolver.ts';

export type UrlCheck =
  | { readonly ok: true; readonly url: URL }
  /** The message is for the person who registers the URL. */
  | { readonly ok: false; readonly message: string };

/** The section `egress` of the configuration, and what tests put in its place. */
export interface EgressOptions {
  /** CIDRs that may be connected to although they are not public. */
  readonly allow: readonly string[];
  /** CIDRs that may not, whatever else is said. */
  readonly deny?: readonly string[];
  readonly allowHttp: boolean;
  /** Name servers to ask (`ip` or `ip:port`); names are found as the machine does when there are none. */
  readonly resolvers?: readonly string[];
  /** Resolves names in place of either. */
  readonly lookup?: LookupFunction;
}

export interface EgressGuard {
  /** Judges a URL at registration. Names are resolved only when a connection is made, and judged again then. */
  readonly checkUrl: (text: string) => UrlCheck;
  /** Connections of a guarded client must come from these; they refuse addresses when connecting. */
  readonly agents: Agents;
  /** Called by the client when it is closed. */
  readonly close?: () => void;
}

/**
 * The one client for whatever goes to a URL that somebody typed in: deliveries, test sends, alert hooks. One code path,
 * so that a test send never succeeds where a delivery is refused. Throws as createEgressGuard does.
 */
export function createGuardedClient(
  egress: EgressOptions,
  options: Omit<HttpClientOptions, 'guard'> = {},
): HttpClient {
  return createHttpClient({ ...options, guard: createEgressGuard(egress) });
}

/**
 * Keeps requests to tenants' URLs away from what only this network can reach. The agents are our own rather than
 * request-filtering-agent's because they must also hold a socket back until the request may be written, its allow list
 * does not match IPv4-mapped spellings, and it takes ::7f00:1 for public.
 * Throws when an entry of `allow` or `deny` is no CIDR.
 */
export function createEgressGuard(options: EgressOptions): EgressGuard {
  const { resolvers = [] } = options;
  const policy = createAddressPolicy(options);
  const resolver = resolvers.length > 0 ? createResolver(resolvers) : createSystemResolver();
  const lookup = options.lookup ?? resolver.lookup;
  return {
    checkUrl: (text) => checkUrl(text, options.allowHttp, policy),
    agents: createAgents({ policy, lookup }),
    close: () => resolver.cancel(),
  };
}

function checkUrl(text: string, allowHttp: boolean, policy: AddressPolicy): UrlCheck {
  // The WHATWG parser is the one that makes the request, so it also decides what 0x7f.1 or a full-width digit means.
  const url = URL.parse(text);
  if (!url) return refused('This is not a URL.');
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) {
    return refused(
      allowHttp ? 'The URL must start with https:// or http://.' : 'The URL must start with https://.',
    );
  }
  if (url.username !== '' || url.password !== '')
    return refused('The URL must not contain a user name or a password.');
  if (url.port === '0') return refused('Port 0 cannot be connected to.');
  if (REFUSED_PORTS.has(Number(url.port)))
    return refused(`Port ${url.port} belongs to a service that is no web server, so it is refused.`);
  const host = url.hostname.replace(/\.+$/, '');
  const literal = host.replaceAll(/^\[|\]$/g, '');
  if (isIP(literal) !== 0) {
    return policy(literal) ? { ok: true, url } : refused(`The address ${literal} is private or reserved.`);
  }
  if (METADATA_NAME.test(host)) return refused(`${host} is the metadata service of a cloud.`);
  if (LOCAL_NAME.test(host) && !policy('127.0.0.1') && !policy('::1'))
    return refused(`${host} is this machine itself.`);
  return { ok: true, url };
}

/** RFC 6761, 6.3 for `localhost`; the others are in the hosts files of Debian, Red Hat and macOS. */
const LOCAL_NAME = /(?:^|\.)localhost$|(?:^|\.)localhost\d?\.localdomain\d?$|^ip6-(?:localhost|loopback)$/;

/** Refused by their addresses anyway; by name the person who registers them learns it at once. */
const METADATA_NAME = /^metadata(?:\.google\.internal|\.goog)?$|^instance-data(?:\.ec2\.internal)?$/;

const refused = (message: string): UrlCheck => ({ ok: false, message });
