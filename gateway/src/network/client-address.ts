// Client addresses are the networks by which the gateway counts clients. One is an IPv4 address or an IPv6 /64, the
// network of one customer. The other is the wider network around it, since one customer may rent many of them.
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

const UNKNOWN = "unknown";
const IPV6_GROUP_BITS = 16;
const CUSTOMER_IPV6_PREFIX = 64;
const WIDER_IPV6_PREFIX = 48;

/**
 * Returns the IPv4 address or the IPv6 /64 that counts as one client.
 * @param address undefined after the client's disconnect.
 */
export function clientNetwork(address: string | undefined): string {
  return networkOf(address, 32, CUSTOMER_IPV6_PREFIX);
}

/** Returns the network around a client: an IPv4 network of that prefix length, or an IPv6 /48. */
export function widerNetwork(address: string | undefined, ipv4Prefix: number): string {
  return networkOf(address, ipv4Prefix, WIDER_IPV6_PREFIX);
}

function networkOf(address: string | undefined, ipv4Prefix: number, ipv6Prefix: number): string {
  if (address === undefined || isIP(address) === 0) return UNKNOWN;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6) {
    const groups = parsed.parts.slice(0, ipv6Prefix / IPV6_GROUP_BITS);
    return `${groups.map((group) => group.toString(16)).join(":")}::/${ipv6Prefix}`;
  }
  const exact = parsed.toString();
  if (ipv4Prefix === 32) return exact;
  return `${ipaddr.IPv4.networkAddressFromCIDR(`${exact}/${ipv4Prefix}`).toString()}/${ipv4Prefix}`;
}
