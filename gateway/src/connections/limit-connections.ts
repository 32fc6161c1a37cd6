// Connection owners share the connections of the process fairly: connections of one public network count together.
// Behind a private address may be a proxy with many clients: those are not counted.
import { BlockList, isIP, isIPv6 } from "node:net";
import { clientNetwork } from "../network/client-address.ts";

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const) {
  PRIVATE.addSubnet(network, prefix, "ipv4");
}
for (const [network, prefix] of [
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
] as const) {
  PRIVATE.addSubnet(network, prefix, "ipv6");
}

export function isPublicAddress(address: string): boolean {
  return !PRIVATE.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** Returns the network that owns the connection. @returns undefined for addresses of possible proxies */
export function connectionOwner(address: string): string | undefined {
  return isIP(address) !== 0 && isPublicAddress(address) ? clientNetwork(address) : undefined;
}
