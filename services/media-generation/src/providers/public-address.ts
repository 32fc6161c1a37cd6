// Public addresses are the only targets of fetches that an answer or a client names. Our own networks
// are refused. Literals and resolved addresses are checked. The connection uses the checked address, so
// DNS cannot change it in between.
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

const PORTS = new Set(["", "80", "443"]);
const GLOBAL_UNICAST = ipaddr.parse("2000::");
/** In a public range, but reachable only from a cloud's virtual machines. */
const INTERNAL = new Set(["168.63.129.16"]);

/** Everything but plain unicast is refused: private, local, mapped, translated and reserved ranges. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || INTERNAL.has(address)) return false;
  const parsed = ipaddr.parse(address);
  // ::7f00:1 is ::127.0.0.1, and unicast to the library: only 2000::/3 is in use.
  const inUse = parsed.kind() === "ipv4" || parsed.match(GLOBAL_UNICAST, 3);
  return inUse && parsed.range() === "unicast";
}

/** @returns the reason for a refusal; undefined if the host is a name that is still to be resolved */
export function refusalOf(url: URL): string | undefined {
  if (url.protocol !== "http:" && url.protocol !== "https:") return "it is neither http nor https";
  if (url.username !== "" || url.password !== "") return "it has a user name or a password";
  if (!PORTS.has(url.port)) return "its port is neither 80 nor 443";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return isIP(host) !== 0 && !isPublicAddress(host) ? "it is not in the public internet" : undefined;
}

export type ResolveAll = (hostname: string) => Promise<readonly LookupAddress[]>;

const resolveBySystem: ResolveAll = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true, verbatim: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });

/** Time of one query of a name, in milliseconds, and number of queries. */
const QUERY = { timeout: 2_000, tries: 2 };

/**
 * Returns a resolver that queries name servers itself. The system's resolver occupies one of Node's few threads for as
 * long as a name server is silent, and a client chooses the name server of its address.
 */
export function nameServerQueries(): ResolveAll {
  const resolver = new Resolver(QUERY);
  return async (hostname) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (four.status === "rejected" && six.status === "rejected") throw four.reason;
    const listed = (found: PromiseSettledResult<string[]>, family: 4 | 6) =>
      found.status === "fulfilled" ? found.value.map((address) => ({ address, family })) : [];
    return [...listed(four, 4), ...listed(six, 6)];
  };
}

/** Refuses a connection to a name if any of its addresses is forbidden. */
export function publicLookup(resolveAll: ResolveAll = resolveBySystem): LookupFunction {
  return (hostname, options, callback) => {
    resolveAll(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
          const error = new Error(`${hostname} is not in the public internet`);
          callback(Object.assign(error, { code: NOT_PUBLIC }), "");
        } else if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ""),
    );
  };
}

/** Code of the error of a connection that this module refused. */
export const NOT_PUBLIC = "ERR_NOT_PUBLIC";
