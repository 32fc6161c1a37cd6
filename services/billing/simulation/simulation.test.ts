// The money protocol, simulated: random histories without a violation (a hundred thousand in the long form), and every
// way to break the protocol that we could think of found by the same invariants. README.md says how to replay one.
import { byDepth } from "@gr/testing/depth";
import { afterAll, describe, expect, test } from "@jest/globals";
import { Coverage } from "./coverage.ts";
import { FLAWS, type Flaw } from "./flaws.ts";
import { runHistory } from "./history.ts";
import { describeCoverage, describeFailure, describeFlaws } from "./report.ts";
import type { Slice } from "./run-slice.ts";
import { SlicePool } from "./slice-pool.ts";

/** One history, with its trace, instead of all of them. */
const SEED = process.env["SIMULATION_SEED"];
const FLAW = process.env["SIMULATION_FLAW"];
const HISTORIES = Number(process.env["SIMULATION_HISTORIES"] ?? byDepth({ quick: 3_000, deep: 100_000 }));
const SLICE = byDepth({ quick: 500, deep: 5_000 });
/** Flaws that take longer to find out are left to the long form. */
const MOST_SEEDS = byDepth({ quick: 500, deep: Number.POSITIVE_INFINITY });
/** Rare cases need many histories. */
const ENOUGH_FOR_COVERAGE = 50_000;
const PATIENCE_MS = 900_000;

const flaws = (Object.keys(FLAWS) as Flaw[]).filter((flaw) => FLAWS[flaw].seeds <= MOST_SEEDS);

function isFlaw(name: string): name is Flaw {
  return name in FLAWS;
}

if (SEED === undefined) simulate();
else replay(Number(SEED));

function simulate(): void {
  // All work is given to the threads at once; each test waits for its own.
  const pool = new SlicePool();
  const histories = slices().map((slice) => pool.run(slice));
  const found = new Map(
    flaws.map((flaw) => [flaw, pool.run({ first: 0, end: FLAWS[flaw].seeds, flaw })] as const),
  );
  afterAll(() => pool.stop());

  test(
    `no invariant is broken in ${HISTORIES} histories, and every case occurs in them`,
    async () => {
      const coverage = new Coverage();
      const began = performance.now();
      const results = await Promise.all(histories);
      for (const { broken } of results) {
        if (broken === undefined) continue;
        throw new Error(describeFailure(runHistory(broken.seed, undefined, new Coverage(), true)));
      }
      for (const result of results) coverage.add(result);
      process.stdout.write(describeCoverage(coverage, performance.now() - began));
      if (HISTORIES >= ENOUGH_FOR_COVERAGE) expect(coverage.missing()).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    "the same seed is the same history",
    () => {
      for (let seed = 0; seed < 20; seed += 1) {
        const [first, second] = [1, 2].map(() => runHistory(seed, undefined, new Coverage(), true).trace);
        expect(first?.length).toBeGreaterThan(5);
        expect(second).toEqual(first);
      }
    },
    PATIENCE_MS,
  );

  describe("a protocol is found out", () => {
    const caught = new Map<Flaw, { histories: number; invariant: string }>();
    afterAll(() => {
      process.stdout.write(describeFlaws(caught));
    });

    test.each(flaws)(
      "with this flaw: %s",
      async (flaw) => {
        const { seeds, what } = FLAWS[flaw];
        const broken = (await found.get(flaw))?.broken;
        if (broken === undefined) throw new Error(`${seeds} histories did not find out: ${what}`);
        const { seed, invariant } = broken;
        // A crash of the simulation catches nothing.
        if (invariant === undefined) {
          throw new Error(describeFailure(runHistory(seed, flaw, new Coverage(), true), flaw));
        }
        caught.set(flaw, { histories: seed + 1, invariant });
      },
      PATIENCE_MS,
    );
  });
}

/** Small enough that all threads have work until the end. */
function slices(): Slice[] {
  return Array.from({ length: Math.ceil(HISTORIES / SLICE) }, (_, index) => ({
    first: index * SLICE,
    end: Math.min(HISTORIES, (index + 1) * SLICE),
    flaw: undefined,
  }));
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
