// The money, simulated: random histories of the production code without a violation (a hundred thousand in the long form).
// mutants.deep.test.ts shows that the same histories notice when that code is wrong. README.md says how to replay one.
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Broken, Slice } from "./run-slice.ts";
import { SlicePool } from "./slice-pool.ts";
import { Coverage } from "./world/coverage.ts";

/** One history, with its trace, instead of all of them. */
const SEED = process.env["SIMULATION_SEED"];
const HISTORIES = Number(process.env["SIMULATION_HISTORIES"] ?? byDepth({ quick: 500, deep: 100_000 }));
const SLICE = byDepth({ quick: 125, deep: 2_500 });
/** Rare cases need many histories. */
const ENOUGH_FOR_COVERAGE = 50_000;
const SAME = 20;
const PATIENCE_MS = 1_800_000;

let pool: SlicePool;
beforeAll(() => {
  pool = new SlicePool();
});
afterAll(() => pool?.stop());

if (SEED === undefined) simulate();
else replay(Number(SEED));

function simulate(): void {
  test(
    `no invariant is broken in ${HISTORIES} histories, and every case occurs in them`,
    async () => {
      const began = performance.now();
      const results = await Promise.all(slices().map((slice) => pool.run(slice)));
      for (const { broken } of results)
        if (broken !== undefined) throw new Error(await failureOf(broken.seed));
      const coverage = new Coverage();
      for (const result of results) coverage.add(result);
      process.stdout.write(describeCoverage(coverage, performance.now() - began));
      if (HISTORIES >= ENOUGH_FOR_COVERAGE) expect(coverage.missing()).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    "the same seed is the same history, in another thread and after another history too",
    async () => {
      for (let seed = 1; seed <= SAME; seed += 1) {
        const slice = { first: seed, end: seed + 1, tracing: true };
        const [one, other] = await Promise.all([pool.run(slice), pool.run({ ...slice, first: seed - 1 })]);
        expect(one.trace.length).toBeGreaterThan(5);
        expect(other.trace).toEqual(one.trace);
      }
    },
    PATIENCE_MS,
  );
}

/** Small enough that all threads have work until the end. */
function slices(): Slice[] {
  return Array.from({ length: Math.ceil(HISTORIES / SLICE) }, (_, index) => ({
    first: index * SLICE,
    end: Math.min(HISTORIES, (index + 1) * SLICE),
  }));
}

async function failureOf(seed: number): Promise<string> {
  const { trace, broken } = await pool.run({ first: seed, end: seed + 1, tracing: true });
  return describeFailure(seed, trace, broken);
}

function replay(seed: number): void {
  test(
    `seed ${seed} breaks no invariant`,
    async () => {
      const { trace, broken } = await pool.run({ first: seed, end: seed + 1, tracing: true });
      process.stdout.write(`${describeFailure(seed, trace, broken)}\n`);
      expect(broken).toBeUndefined();
    },
    PATIENCE_MS,
  );
}

function describeCoverage({ histories, events, counts }: Coverage, ms: number): string {
  const perSecond = Math.round((histories / ms) * 1_000);
  const lines = Object.entries(counts).map(
    ([name, count]) => `  ${name.padEnd(46)}${String(count).padStart(10)}`,
  );
  return [`${histories} histories, ${events} events, ${perSecond} histories a second`, ...lines, ""].join(
    "\n",
  );
}

function describeFailure(seed: number, trace: readonly string[], broken: Broken | undefined): string {
  const ending = broken?.message ?? "no violation";
  return [
    `seed ${seed}:`,
    ...trace,
    "",
    ending,
    "",
    `SIMULATION_SEED=${seed} npm test -- test/simulation/simulation.test.ts`,
  ].join("\n");
}
