// The end of a base URL: without slashes, so that a path can follow.

/** Removes every slash at the end. An expression such as /\/+$/ would need quadratic time. */
export function trimSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === "/") end -= 1;
  return url.slice(0, end);
}
