// Which build this is. A bundle has both written into it when it is made; what runs from its source has no version.

export interface BuildInfo {
  readonly version: string;
  /** Of git, shortened; ends in `-dirty` when there were changes beside it. */
  readonly commit: string;
}

/** Replaced by the bundler. */
declare const BUILD_INFO: BuildInfo | undefined;

export const buildInfo: BuildInfo =
  typeof BUILD_INFO === "undefined" ? { version: "source", commit: "unknown" } : BUILD_INFO;
