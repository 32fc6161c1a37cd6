// Build info is the version and commit of this build. The bundler writes both; a run from source has no version.

export interface BuildInfo {
  readonly version: string;
  /** Git commit, shortened; ends in `-dirty` for a build with uncommitted changes. */
  readonly commit: string;
}

/** Replaced by the bundler. */
declare const BUILD_INFO: BuildInfo | undefined;

export const buildInfo: BuildInfo =
  typeof BUILD_INFO === "undefined" ? { version: "source", commit: "unknown" } : BUILD_INFO;
