import { type LookupFunction, isIP } from 'node:net';
import { type AddressPolicy, createAddressPolicy } from './address-policy.ts';
import { type Agents, createAgents } from './agents.ts';

export type UrlCheck =
  | { readonly ok: true; readonly url: URL }
  /** The message is for the person who registers the URL. */
  | { readonly ok: false; readonly message: string };

export interface EgressOptions {
  /** CIDRs that may be connected to although they are not public. */
  readonly allow: readonly string[];
  readonly allowHttp: boolean;
  /** Resolves names; dns.lookup by default. */
  readonly lookup?: LookupFunction;
}

export interface EgressGuard {
  /** Judges a URL at registration. Names are resolved only when a connection is made, and judged again then. */
  readonly checkUrl: (text: string) => UrlCheck;
  /** Connections of a guarded client must come from these; they refuse addresses when connecting. */
  readonly agents: Agents;
}

/**
 * Keeps requests to tenants' URLs away from what only this network can reach. The agents are our own rather than
 * request-filtering-agent's because they must also hold a socket back until the request may be written, its allow list
 * does not match IPv4-mapped spellings, and it takes ::7f00:1 for public.
 * Throws when an entry of `allow` is no CIDR.
 */
export function createEgressGuard(options: EgressOptions): EgressGuard {
  const policy = createAddressPolicy(options.allow);
  return {
    checkUrl: (text) => checkUrl(text, options.allowHttp, policy),
    agents: createAgents({ policy, ...(options.lookup && { lookup: options.lookup }) }),
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
  const host = url.hostname.replace(/\.$/, '');
  const literal = host.replaceAll(/^\[|\]$/g, '');
  if (isIP(literal) !== 0) {
    return policy(literal) ? { ok: true, url } : refused(`The address ${literal} is private or reserved.`);
  }
  // RFC 6761, 6.3: these names mean loopback wherever they are resolved.
  const local = host === 'localhost' || host.endsWith('.localhost');
  if (local && !policy('127.0.0.1') && !policy('::1')) return refused(`${host} is this machine itself.`);
  return { ok: true, url };
}

const refused = (message: string): UrlCheck => ({ ok: false, message });
