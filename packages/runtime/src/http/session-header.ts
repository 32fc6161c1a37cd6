// The session header of an answer names the person of the request's session. The gateway reads it to count requests of
// signed-in people, and removes it from the answer.

/** In lower case. */
const SIGNED_IN_HEADER = "x-signed-in-person";
const NOBODY = "nobody";

interface Reply {
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
}

/** Names the person of a request in its answer. @param personId undefined without a valid session. */
export function reportSignedIn(reply: Pick<Reply, "header">, personId: string | undefined): void {
  reply.header(SIGNED_IN_HEADER, personId ?? NOBODY);
}

/**
 * Removes the header from an answer.
 * @returns the person's id; null if the request has no valid session; undefined if its module did not report.
 */
export function removeSignedIn(reply: Pick<Reply, "getHeader" | "removeHeader">): string | null | undefined {
  const value = reply.getHeader(SIGNED_IN_HEADER);
  if (typeof value !== "string") return undefined;
  reply.removeHeader(SIGNED_IN_HEADER);
  return value === NOBODY ? null : value;
}
