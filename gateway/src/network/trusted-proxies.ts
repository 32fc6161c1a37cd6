// TrustedProxies finds the client's address behind proxies. X-Forwarded-For counts only from trusted ones. It is read
// from the right, since each proxy appends the address of its peer and a client may write anything before.
// Forwarded and X-Real-IP are not read: one header has one meaning.
import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import type { Logger } from "@gr/runtime";

/** Entries of one X-Forwarded-For that are read at most. */
export const MAX_HOPS = 32;
const HEADER = "x-forwarded-for";
const HOP_COUNT = /^\d+$/;
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/;
const LONGEST_PREFIX = { ipv4: 32, ipv6: 128 } as const;

/**
 * Returns true if an address belongs to a trusted proxy.
 * @param hop 0 for the peer of the connection, 1 for the address that it names, and so on.
 */
export type IsTrusted = (address: string, hop: number) => boolean;

/** The value of TRUSTED_PROXIES is not a list of addresses and networks, and not a count. */
export class BadProxyList extends Error {}

/** @throws BadProxyList */
export function parseTrustedProxies(text: string): IsTrusted | undefined {
  const entries = text.split(",").map((entry) => entry.trim());
  if (text.trim() === "") return undefined;
  if (entries.length === 1 && HOP_COUNT.test(entries[0] ?? "")) {
    const hops = Number(entries[0]);
    if (hops > MAX_HOPS) throw new BadProxyList(`must be at most ${MAX_HOPS} if it is a number of proxies`);
    return hops === 0 ? undefined : (_address, hop) => hop < hops;
  }
  const trusted = new BlockList();
  for (const entry of entries) addNetwork(trusted, entry);
  return (address) => trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

function addNetwork(trusted: BlockList, entry: string): void {
  const [address = "", prefix, ...rest] = entry.split("/");
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  const bits = prefix === undefined ? LONGEST_PREFIX[family] : Number(prefix);
  const isPrefix = prefix === undefined || (HOP_COUNT.test(prefix) && bits <= LONGEST_PREFIX[family]);
  if (isIP(address) === 0 || address.includes("%") || !isPrefix || rest.length > 0) {
    const wanted = "addresses and networks, for example 10.0.0.0/8 or 2001:db8::/32, or a number of proxies";
    throw new BadProxyList(`must be a comma-separated list of ${wanted}; "${entry}" is none`);
  }
  trusted.addSubnet(address, bits, family);
}

export class TrustedProxies {
  readonly #isTrusted: IsTrusted | undefined;
  readonly #log: Pick<Logger, "warn">;
  #hasWarned = false;

  /** @param isTrusted undefined = there is no trusted proxy. */
  constructor(isTrusted: IsTrusted | undefined, log: Pick<Logger, "warn">) {
    this.#isTrusted = isTrusted;
    this.#log = log;
  }

  /** Returns true if the peer of a connection is a trusted proxy. */
  isProxy(remoteAddress: string): boolean {
    return this.#isTrusted?.(remoteAddress, 0) === true;
  }

  /** Whether the peer is a trusted proxy by its address. A number of proxies names none of them. */
  isNamed(remoteAddress: string): boolean {
    return this.#isTrusted?.(remoteAddress, MAX_HOPS) === true;
  }

  /**
   * Returns the address of the client: the peer of the connection, or the nearest address in X-Forwarded-For that is no
   * trusted proxy.
   * @returns undefined after the client's disconnect.
   */
  clientOf({ headers, socket: { remoteAddress } }: IncomingMessage): string | undefined {
    const isTrusted = this.#isTrusted;
    const forwarded = headers[HEADER];
    if (isTrusted === undefined || remoteAddress === undefined || typeof forwarded !== "string") {
      return remoteAddress;
    }
    let client = remoteAddress;
    let hop = 0;
    for (const entry of forwarded.split(",").slice(-MAX_HOPS).toReversed()) {
      if (!isTrusted(client, hop)) return client;
      const address = addressIn(entry);
      if (address === undefined) return client;
      client = address;
      hop += 1;
    }
    return client;
  }

  /** Warns once per process of an X-Forwarded-For that does not count, since a proxy may be missing in the setting. */
  warnOfForgery({ headers, socket: { remoteAddress } }: IncomingMessage): void {
    if (this.#hasWarned || headers[HEADER] === undefined || remoteAddress === undefined) return;
    if (this.isProxy(remoteAddress)) return;
    this.#hasWarned = true;
    this.#log.warn(
      { peer: remoteAddress },
      "X-Forwarded-For does not count from a peer that is no trusted proxy; " +
        "if this peer is a proxy of yours, name it in TRUSTED_PROXIES, else all its clients share one limit",
    );
  }
}

/** Some proxies add the port of the client. */
function addressIn(entry: string): string | undefined {
  const text = entry.trim();
  const [, inBrackets, beforePort] = WITH_PORT.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  return isIP(address) === 0 ? undefined : address;
}
