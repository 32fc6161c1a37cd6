// The public origin is the address of the router for callers of its API; the page may have another host name.

const MARK = "__PUBLIC_BASE_URL__";

/** Returns the address that the gateway wrote into the page; without a gateway, that of the page. */
export function publicOrigin(): string {
  const written = document.querySelector<HTMLMetaElement>("meta[name=public-base-url]")?.content ?? "";
  const address = written === "" || written === MARK ? window.location.origin : written;
  return address.endsWith("/") ? address.slice(0, -1) : address;
}
