import ipaddr from 'ipaddr.js';

/** Tells whether an IP address, as text, may be connected to. Text that is no address may not. */
export type AddressPolicy = (address: string) => boolean;

/** CIDRs, as the configuration has them. */
export interface AddressRanges {
  /** May be connected to although they are not public. */
  readonly allow: readonly string[];
  /** May not be connected to, whatever else is said of them. */
  readonly deny?: readonly string[];
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** IANA hands out global unicast IPv6 from here only; outside of it are embedded IPv4 forms such as ::7f00:1. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Services that hand a machine's credentials to whoever asks from it: AWS, GCP, Azure and most others; AWS over IPv6;
 * Alibaba; Oracle; Azure's WireServer, which is a public address to every registry; GCP over IPv6. They lie in ranges
 * that people allow for other reasons (fd00::/8, 100.64.0.0/10), so only an entry of exactly the address allows one.
 */
const METADATA = new Set(
  [
    '169.254.169.254',
    '169.254.170.2', // credentials of ECS tasks
    '169.254.170.23', // credentials of EKS pods
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
  ].map((text) => ipaddr.parse(text).toNormalizedString()),
);

/**
 * Public unicast addresses, and whatever an `allow` CIDR covers; never what a `deny` CIDR covers. Both sides are compared
 * in their canonical form, so a range given as IPv4 also covers its IPv4-mapped IPv6 spelling, and the other way round.
 * An allowed address that only wraps an IPv4 address (NAT64, 6to4, Teredo, compatible) is judged by that one, too.
 * Throws when an entry is no CIDR (the configuration schema refuses those earlier).
 */
export function createAddressPolicy({ allow, deny = [] }: AddressRanges): AddressPolicy {
  const allowed = allow.map((cidr) => canonicalRange(ipaddr.parseCIDR(cidr)));
  const denied = deny.map((cidr) => canonicalRange(ipaddr.parseCIDR(cidr)));
  const judge = (address: Address): boolean => {
    if (denied.some((range) => contains(range, address))) return false;
    const inner = wrappedIpv4(address);
    if (inner && denied.some((range) => contains(range, inner))) return false;
    const ranges = allowed.filter((range) => contains(range, address));
    if (METADATA.has(address.toNormalizedString())) return ranges.some(isSingle);
    if (ranges.length > 0) return !inner || ranges.some(isSingle) || judge(inner);
    return isPublic(address);
  };
  return (text) => ipaddr.isValid(text) && judge(ipaddr.process(text));
}

/** CGNAT, NAT64, 6to4, Teredo, documentation ranges and the like are not `unicast` here. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_IPV6);
}

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96'); // RFC 6052
const LOCAL_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48'); // RFC 8215; taken as /96, the common way to split it
const COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96'); // RFC 4291, 2.5.5.1
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16'); // RFC 3056
const TEREDO = ipaddr.IPv6.parseCIDR('2001::/32'); // RFC 4380

/** The IPv4 address that a translator or a tunnel would make of an IPv6 one. */
function wrappedIpv4(address: Address): ipaddr.IPv4 | undefined {
  if (address instanceof ipaddr.IPv4) return undefined;
  const bytes = address.toByteArray();
  if (address.match(SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6));
  if (address.match(TEREDO)) return new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff));
  if (address.range() === 'loopback' || address.range() === 'unspecified') return undefined; // ::1 wraps nothing
  const isWrapped = [NAT64, LOCAL_NAT64, COMPATIBLE].some((range) => address.match(range));
  return isWrapped ? new ipaddr.IPv4(bytes.slice(12)) : undefined;
}

/** ipaddr.js throws when it is asked to compare one family with the other. */
function contains([network, prefix]: Range, address: Address): boolean {
  if (network instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(network, prefix);
  return address instanceof ipaddr.IPv6 && address.match(network, prefix);
}

const isSingle = ([network, prefix]: Range): boolean =>
  prefix === (network instanceof ipaddr.IPv4 ? 32 : 128);

function canonicalRange([network, prefix]: Range): Range {
  if (!(network instanceof ipaddr.IPv6) || !network.isIPv4MappedAddress() || prefix < 96)
    return [network, prefix];
  return [network.toIPv4Address(), prefix - 96];
}
