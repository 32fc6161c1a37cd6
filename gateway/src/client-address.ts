// Which clients without a key are counted as one: an IPv4 address, or an IPv6 /64, which is what one customer of a
// network has. Only the socket is believed; what headers say of addresses is the client's own word.

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

/** @param remoteAddress of a socket; unknown when the client has left already. */
export function clientNetwork(remoteAddress: string | undefined): string {
  if (remoteAddress === undefined) return "unknown";
  const mapped = MAPPED_IPV4.exec(remoteAddress)?.[1];
  if (mapped !== undefined) return mapped;
  if (!remoteAddress.includes(":")) return remoteAddress;
  const [start = "", end] = remoteAddress.split("::", 2);
  const groups = groupsOf(start);
  if (end !== undefined) {
    const missing = Math.max(0, IPV6_GROUPS - groups.length - groupsOf(end).length);
    groups.push(...Array<string>(missing).fill("0"), ...groupsOf(end));
  }
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}

function groupsOf(part: string): string[] {
  return part === "" ? [] : part.split(":");
}
