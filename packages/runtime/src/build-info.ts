// Build info is the version and commit of this build. The bundler writes both. A run from source reads them from its
// folder, as far as they are there.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface BuildInfo {
  readonly version: string;
  /** Git commit, shortened; ends in `-dirty` for a build with uncommitted changes. */
  readonly commit: string;
}

/** Replaced by the bundler. */
declare const BUILD_INFO: BuildInfo | undefined;

const ROOT = join(import.meta.dirname, "../../..");
const SHORT = 12;

export const buildInfo: BuildInfo = typeof BUILD_INFO === "undefined" ? sourceInfo(ROOT) : BUILD_INFO;

/** @param root folder of the repository */
export function sourceInfo(root: string): BuildInfo {
  const read = (...path: string[]) => {
    try {
      return readFileSync(join(root, ...path), "utf8").trim();
    } catch {
      // A file of another kind of copy, or none: the build is then named without it.
      return undefined;
    }
  };
  const version = /"version": "([^"]+)"/.exec(read("package.json") ?? "")?.[1];
  const link = /^gitdir: (.+)$/.exec(read(".git") ?? "")?.[1];
  const head = link === undefined ? read(".git", "HEAD") : undefined;
  const ref = /^ref: (.+)$/.exec(head ?? "")?.[1];
  const commit = ref === undefined ? head : read(".git", ref);
  return {
    version: version === undefined ? "source" : `${version}-source`,
    commit: commit?.slice(0, SHORT) ?? "unknown",
  };
}
