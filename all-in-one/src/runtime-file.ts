// DATA_DIR/runtime.json: how the operator's CLI reaches the router that runs on this data directory.
import { join } from "node:path";
import { writePrivateFile } from "./private-file.ts";

export interface RuntimeFile {
  readonly rpc_urls: { readonly keys: string; readonly billing: string; readonly catalog: string };
  readonly internal_auth_secret: string;
}

export function writeRuntimeFile(dataDir: string, content: RuntimeFile): Promise<void> {
  return writePrivateFile(join(dataDir, "runtime.json"), content);
}
