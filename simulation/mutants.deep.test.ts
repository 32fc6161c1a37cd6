// Production code made wrong on purpose is noticed: by the invariants of simulated histories, or by the test that says so.
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { PatchedTree } from "./patched-tree.ts";
import type { SliceResult } from "./run-slice.ts";

/** A part of what is wrong, to run some mutants only. */
const ONLY = process.env["SIMULATION_MUTANT"] ?? "";
const THREADS = 2;
const PATIENCE_MS = 3_600_000;

const chosen = MUTANTS.filter(({ what }) => what.includes(ONLY));
const noticed = new Map<Mutant, string>();
afterAll(() => {
  process.stdout.write(describeMutants(noticed));
});

describe("histories notice that", () => {
  // All work is given to the threads at once; each test waits for its own.
  const results = new Map<Mutant, PromiseWithResolvers<SliceResult>>();
  const waiting = chosen.filter(({ caught }) => "histories" in caught);
  for (const mutant of waiting) {
    const result = Promise.withResolvers<SliceResult>();
    result.promise.catch(() => undefined);
    results.set(mutant, result);
  }
  const work = async () => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      await runMutant(mutant).then(results.get(mutant)?.resolve, results.get(mutant)?.reject);
    }
  };
  for (let thread = 0; thread < THREADS; thread += 1) void work();

  for (const [mutant, { promise }] of results) {
    test(
      mutant.what,
      async () => {
        const { broken } = await promise;
        if (broken === undefined) throw new Error(`no history noticed that ${mutant.what}`);
        // A crash of the code catches nothing.
        if (broken.invariant === undefined) throw new Error(`seed ${broken.seed}: ${broken.message}`);
        noticed.set(mutant, `${broken.seed + 1} histories, ${broken.invariant}`);
      },
      PATIENCE_MS,
    );
  }
});

let tree: PatchedTree | undefined;
afterAll(() => tree?.remove());

describe("a test notices that", () => {
  /** A test that fails anyhow notices nothing. */
  const sound = new Map<string, Promise<boolean>>();

  for (const mutant of chosen) {
    if (!("test" in mutant.caught)) continue;
    const { test: file, name } = mutant.caught;
    test(
      mutant.what,
      async () => {
        tree ??= new PatchedTree(process.env);
        const key = `${file} ${name ?? ""}`;
        if (!sound.has(key)) sound.set(key, tree.passes(file, name, undefined));
        expect(await sound.get(key)).toBe(true);
        expect(await tree.passes(file, name, mutant)).toBe(false);
        noticed.set(mutant, file);
      },
      PATIENCE_MS,
    );
  }
});

/** Histories from seed 0 on, up to the first that breaks an invariant. */
async function runMutant(mutant: Mutant): Promise<SliceResult> {
  const thread = new Worker(new URL("./run-mutant.ts", import.meta.url), { workerData: mutant });
  try {
    return await new Promise((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
      thread.once("exit", () => reject(new Error("the thread ended and said nothing")));
      thread.postMessage({ first: 0, end: "histories" in mutant.caught ? mutant.caught.histories : 0 });
    });
  } finally {
    await thread.terminate();
  }
}

/** @param noticed by mutant: who noticed, and when */
function describeMutants(noticed: ReadonlyMap<Mutant, string>): string {
  const lines = [...noticed].map(([{ what }, by]) => `  ${by.padEnd(24)}  ${what}`);
  return ["noticed by, what was wrong", ...lines, ""].join("\n");
}
