// DATA_DIR/runtime.json: how the operator's CLI reaches the router that runs on this data directory, and how further
// processes join it.
import { join } from "node:path";
import type { Environment } from "@gr/runtime";
import { writePrivateFile } from "./private-file.ts";

export interface RuntimeFile {
  readonly rpc_urls: Readonly<
    Record<"keys" | "billing" | "catalog" | "console" | "media-generation" | "text-proxy", string>
  >;
  readonly internal_auth_secret: string;
  /** Addresses of the modules and of Redis, as variables of the environment; split topology only. */
  readonly addresses?: Environment;
}

export function writeRuntimeFile(dataDir: string, content: RuntimeFile): Promise<void> {
  return writePrivateFile(join(dataDir, "runtime.json"), content);
}
