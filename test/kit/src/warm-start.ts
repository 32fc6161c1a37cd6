// Most of a start of our processes is reading the same source files. Node stores its compiled code of
// them in a folder, for all processes with this environment, also of later runs.

/**
 * Names the folder to the workers of jest. They do not use it themselves: writing to it at their end needs too long.
 */
export const COMPILED_BY_CHILDREN = "TEST_COMPILE_CACHE";

/** Returns the environment of a child process. */
export function warmStart(): Record<string, string> {
  const folder = process.env[COMPILED_BY_CHILDREN];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
