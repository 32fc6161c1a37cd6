// The money protocol, simulated: a hundred thousand random histories without a violation, and every way to break the
// protocol that we could think of found by the same invariants. README.md says how to read and replay a history.
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, test } from "@jest/globals";
import { Coverage } from "./coverage.ts";
import { FLAWS, type Flaw } from "./flaws.ts";
import { runHistory } from "./history.ts";
import { describeCoverage, describeFailure, describeFlaws } from "./report.ts";
import type { Slice, SliceResult } from "./run-slice.ts";
import { Violation } from "./violation.ts";

/** One history, with its trace, instead of all of them. */
const SEED = process.env["SIMULATION_SEED"];
const FLAW = process.env["SIMULATION_FLAW"];
const HISTORIES = Number(process.env["SIMULATION_HISTORIES"] ?? 100_000);
const THREADS = Math.min(2, availableParallelism());
/** Rare cases need many histories. */
const ENOUGH_FOR_COVERAGE = 50_000;
const PATIENCE_MS = 900_000;

const flaws = Object.keys(FLAWS) as Flaw[];

function isFlaw(name: string): name is Flaw {
  return name in FLAWS;
}

if (SEED === undefined) simulate();
else replay(Number(SEED));

function simulate(): void {
  test(
    `no invariant is broken in ${HISTORIES} histories, and every case occurs in them`,
    async () => {
      const coverage = new Coverage();
      const began = performance.now();
      const results = await Promise.all(slices().map(runApart));
      for (const { broken } of results) {
        if (broken === undefined) continue;
        throw new Error(describeFailure(runHistory(broken, undefined, new Coverage(), true)));
      }
      for (const result of results) coverage.add(result);
      process.stdout.write(describeCoverage(coverage, performance.now() - began));
      if (HISTORIES >= ENOUGH_FOR_COVERAGE) expect(coverage.missing()).toEqual([]);
    },
    PATIENCE_MS,
  );

  test("the same seed is the same history", () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const [first, second] = [1, 2].map(() => runHistory(seed, undefined, new Coverage(), true).trace);
      expect(first?.length).toBeGreaterThan(5);
      expect(second).toEqual(first);
    }
  });

  describe("a protocol is found out", () => {
    const caught = new Map<Flaw, { histories: number; invariant: string }>();
    afterAll(() => {
      process.stdout.write(describeFlaws(caught));
    });

    test.each(flaws)(
      "with this flaw: %s",
      (flaw) => {
        const coverage = new Coverage();
        const { seeds } = FLAWS[flaw];
        for (let seed = 0; seed < seeds; seed += 1) {
          const { error } = runHistory(seed, flaw, coverage);
          if (error === undefined) continue;
          // A crash of the simulation catches nothing.
          if (!(error instanceof Violation)) throw error;
          caught.set(flaw, { histories: seed + 1, invariant: error.invariant });
          return;
        }
        throw new Error(`${seeds} histories did not find out: ${FLAWS[flaw].what}`);
      },
      PATIENCE_MS,
    );
  });
}

function slices(): Slice[] {
  const size = Math.ceil(HISTORIES / THREADS);
  return Array.from({ length: THREADS }, (_, index) => ({
    first: index * size,
    end: Math.min(HISTORIES, (index + 1) * size),
  }));
}

function runApart(slice: Slice): Promise<SliceResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./run-slice.ts", import.meta.url), { workerData: slice });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`the thread ended with ${code} and said nothing`)));
  });
}

function replay(seed: number): void {
  const flaw = FLAW !== undefined && isFlaw(FLAW) ? FLAW : undefined;

  test(`seed ${seed} breaks no invariant`, () => {
    expect(FLAW).toBe(flaw);
    const history = runHistory(seed, flaw, new Coverage(), true);
    process.stdout.write(`${describeFailure(history, flaw)}\n`);
    expect(history.error).toBeUndefined();
  });
}
