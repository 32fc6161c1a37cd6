// Reads the If-None-Match header: in linear time, since it is the client's text.

/** Returns whether the client has the version with this tag already. Weak tags count, as RFC 9110 wants. */
export function hasEntityTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const strong = withoutWeakness(tag);
  return header.split(",").some((part) => {
    const named = part.trim();
    return named === "*" || withoutWeakness(named) === strong;
  });
}

function withoutWeakness(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
