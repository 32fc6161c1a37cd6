// Most of what a process of ours does when it starts is reading the same source files. Node keeps what it has made of
// them in a folder, for all processes of a jest run that are given this environment.

/** For the environment of a child process. */
export function warmStart(): Record<string, string> {
  const folder = process.env["NODE_COMPILE_CACHE"];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
