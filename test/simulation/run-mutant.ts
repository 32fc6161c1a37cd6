// The entry of a worker thread in which one line of production code is wrong: its source text is replaced when it is loaded.
import { readFileSync } from "node:fs";
import { enableCompileCache, registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { workerData } from "node:worker_threads";
import type { Mutant } from "./mutant.ts";
import { patched, pathOf } from "./patch.ts";

export interface MutantThread {
  readonly mutant: Mutant;
  /** Where compiled code is kept: but for one file, that of all mutants is the same. */
  readonly compiled: string | undefined;
}

const { mutant, compiled } = workerData as MutantThread;
enableCompileCache(compiled);
const path = pathOf(mutant);
const url = pathToFileURL(path).href;
const source = patched(readFileSync(path, "utf8"), mutant);

registerHooks({
  load: (loaded, context, nextLoad) => {
    const result = nextLoad(loaded, context);
    return loaded === url ? { ...result, source } : result;
  },
});

await import("./run-slice.ts");
