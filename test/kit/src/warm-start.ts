// Most of what a process of ours does when it starts is reading the same source files. Node keeps what it has made of
// them in a folder, for all processes of a jest run that are given this environment.

/** Names the folder to the workers of jest. They do not use it themselves: writing to it as they end takes too long. */
export const COMPILED_BY_CHILDREN = "TEST_COMPILE_CACHE";

/** For the environment of a child process. */
export function warmStart(): Record<string, string> {
  const folder = process.env[COMPILED_BY_CHILDREN];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
