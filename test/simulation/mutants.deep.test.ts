// Production code made wrong on purpose is noticed: by the invariants of simulated histories, or by the test that says so.
import { Worker } from "node:worker_threads";
import { warmStart } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { nameOf, type Outcome, PatchedTree, type Variant } from "./patched-tree.ts";
import type { MutantThread } from "./run-mutant.ts";
import type { Slice, SliceResult } from "./run-slice.ts";

/** Parts of descriptions or of paths, separated by |, to run some mutants only. */
const ONLY = (process.env["SIMULATION_MUTANT"] ?? "").split("|");
const THREADS = 2;
const PATIENCE_MS = 3_600_000;

const chosen = MUTANTS.filter(({ file, what }) =>
  ONLY.some((part) => file.includes(part) || what.includes(part)),
);
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
  const begin = () => {
    for (let thread = 0; thread < THREADS; thread += 1) void work();
  };
  // jest refuses hooks of a group without tests.
  if (results.size > 0) beforeAll(begin);

  for (const [mutant, { promise }] of results) {
    test(
      mutant.what,
      async () => {
        const { broken } = await promise;
        if (broken === undefined) throw new Error(`no history noticed that ${mutant.what}`);
        // A crash of the code catches nothing.
        if (broken.invariant === undefined) throw new Error(`seed ${broken.seed}: ${broken.message}`);
        noticed.set(mutant, `seed ${broken.seed}, ${broken.invariant}`);
      },
      PATIENCE_MS,
    );
  }
});

const ofTests = chosen.flatMap((mutant) => ("test" in mutant.caught ? [{ mutant, by: mutant.caught }] : []));
if (ofTests.length > 0) {
  describe("a test notices that", () => {
    /** By test: a test that fails without a mutant notices none. */
    const sound = new Map(ofTests.map(({ by }) => [nameOf(by), { by }]));
    let tree: PatchedTree;
    let outcomes: ReadonlyMap<Variant, Outcome>;
    beforeAll(async () => {
      tree = new PatchedTree(process.env);
      outcomes = await tree.run([...ofTests, ...sound.values()]);
    }, PATIENCE_MS);
    afterAll(() => tree?.remove());

    test.each(ofTests)("$mutant.what", (variant) => {
      const { mutant, by } = variant;
      const without = sound.get(nameOf(by));
      expect(without && outcomes.get(without)).toBe("passed");
      expect(outcomes.get(variant)).toBe("failed");
      noticed.set(mutant, by.test);
    });
  });
}

/** Histories up to the first that breaks an invariant: the one that is known to, else from seed 0 on. */
async function runMutant(mutant: Mutant): Promise<SliceResult> {
  const workerData: MutantThread = { mutant, compiled: warmStart()["NODE_COMPILE_CACHE"] };
  const thread = new Worker(new URL("./run-mutant.ts", import.meta.url), { workerData });
  const play = (slice: Slice): Promise<SliceResult> =>
    new Promise((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
      thread.once("exit", () => reject(new Error("the thread ended and said nothing")));
      thread.postMessage(slice);
    });
  const { histories: end = 0, seed } = "histories" in mutant.caught ? mutant.caught : {};
  try {
    if (seed !== undefined && seed < end) {
      const known = await play({ first: seed, end: seed + 1 });
      if (known.broken !== undefined) return known;
    }
    return await play({ first: 0, end });
  } finally {
    await thread.terminate();
  }
}

/** @param noticed by mutant: who noticed, and when */
function describeMutants(noticed: ReadonlyMap<Mutant, string>): string {
  const lines = [...noticed].map(([{ what }, by]) => `  ${by.padEnd(24)}  ${what}`);
  return ["noticed by, what was wrong", ...lines, ""].join("\n");
}
