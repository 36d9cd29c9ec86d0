import ipaddr from 'ipaddr.js';

/** Tells whether an IP address, as text, may be connected to. Text that is no address may not. */
export type AddressPolicy = (address: string) => boolean;

/** IANA hands out global unicast IPv6 from here only; outside of it are embedded IPv4 forms such as ::7f00:1. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Azure's WireServer: a public address to every registry, yet it hands credentials to the machine that asks. */
const AZURE_WIRESERVER = ipaddr.IPv4.parseCIDR('168.63.129.16/32');

type Range = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * Public unicast addresses, and whatever is in an `allow` CIDR. Both sides are compared in their canonical form, so a
 * range given as IPv4 also covers its IPv4-mapped IPv6 spelling, and the other way round.
 * Throws when an entry of `allow` is no CIDR (the configuration schema refuses those earlier).
 */
export function createAddressPolicy(allow: readonly string[]): AddressPolicy {
  const allowed = allow.map((cidr) => canonicalRange(ipaddr.parseCIDR(cidr)));
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return allowed.some((range) => contains(range, address)) || isPublic(address);
  };
}

/** Metadata services (169.254.169.254, fd00:ec2::254, 100.100.100.200), CGNAT, NAT64 and 6to4 are not `unicast` here. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv6 ? address.match(GLOBAL_IPV6) : !address.match(AZURE_WIRESERVER);
}

/** ipaddr.js throws when it is asked to compare one family with the other. */
function contains([network, prefix]: Range, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (network instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(network, prefix);
  return address instanceof ipaddr.IPv6 && address.match(network, prefix);
}

function canonicalRange([network, prefix]: Range): Range {
  if (!(network instanceof ipaddr.IPv6) || !network.isIPv4MappedAddress() || prefix < 96)
    return [network, prefix];
  return [network.toIPv4Address(), prefix - 96];
}
