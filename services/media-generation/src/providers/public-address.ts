// Which addresses may be fetched because an answer or a client names them: those of the public internet, and nothing
// that could be ours. Checked for literals and for what names resolve to; the connection goes to the checked address.
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

const PORTS = new Set(["", "80", "443"]);
const GLOBAL_UNICAST = ipaddr.parse("2000::");
/** Public by its range, but answers the virtual machines of a cloud only. */
const INTERNAL = new Set(["168.63.129.16"]);

/** Everything but plain unicast is refused: private, local, mapped, translated and reserved ranges. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || INTERNAL.has(address)) return false;
  const parsed = ipaddr.parse(address);
  // ::7f00:1 is ::127.0.0.1, and unicast to the library: only 2000::/3 is in use.
  const inUse = parsed.kind() === "ipv4" || parsed.match(GLOBAL_UNICAST, 3);
  return inUse && parsed.range() === "unicast";
}

/** @returns why this address must not be fetched; undefined when only its name has to be resolved yet */
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

/** For connections: refuses a name when any of its addresses must not be reached. */
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

/** Code of the error of a connection that was refused here. */
export const NOT_PUBLIC = "ERR_NOT_PUBLIC";
