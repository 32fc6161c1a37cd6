// This file owns the folders of the clone and of the bootstrap. The bootstrap writes only into .tools/ and node_modules/, so the
// deletion of these two folders resets it.
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const TOOLS = path.join(ROOT, ".tools");
export const BIN = path.join(ROOT, "node_modules", ".bin");
export const CACHE = path.join(ROOT, "node_modules", ".cache");

/** Prints a progress line on stderr, so that the entry's stdout stays machine-readable. */
export function note(message) {
  process.stderr.write(`bootstrap: ${message}\n`);
}
