// How many connections one public address may have at the same time; more are closed as soon as they are made, so that
// nobody alone has all that the process can hold. Behind a private address may stand a proxy with many clients: those are
// not counted.
import type { Server } from "node:http";
import { BlockList, isIPv6, type Socket } from "node:net";
import { clientNetwork } from "./client-address.ts";

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

export interface ConnectionLimit {
  /** Connections of one IPv4 address or IPv6 /64. */
  readonly most: number;
  readonly isCounted: (address: string) => boolean;
  /** Told of each that is closed. */
  readonly refused: () => void;
}

export function limitConnections(server: Server, { most, isCounted, refused }: ConnectionLimit): void {
  const open = new Map<string, number>();
  server.prependListener("connection", (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || !isCounted(remoteAddress)) return;
    const client = clientNetwork(remoteAddress);
    const before = open.get(client) ?? 0;
    if (before >= most) {
      refused();
      socket.destroy();
      return;
    }
    open.set(client, before + 1);
    socket.once("close", () => {
      const left = (open.get(client) ?? 1) - 1;
      if (left === 0) open.delete(client);
      else open.set(client, left);
    });
  });
}
