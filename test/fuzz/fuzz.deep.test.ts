// 20,000 random requests to every operation that the router describes, from callers of all kinds, right, wrong and
// broken. Only requested failures occur, no request hangs, no process dies, and the books agree with the upstream's
// bill.
import { expect, test } from "@jest/globals";
import { fuzz } from "./fuzz-run.ts";

const CASES = 20_000;
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_122);
/** Limit far above the usual memory; a leak of a body for each request would exceed it. */
const MOST_MEGABYTES = 1_500;

test(`${CASES} random requests, seed ${SEED}: each is answered as it must be, and the books are right`, async () => {
  const say = (line: string) => void process.stdout.write(`fuzz, seed ${SEED}: ${line}\n`);
  const { problems, tally, operations, memory } = await fuzz({
    ...{ cases: CASES, seed: SEED, begin: 0, topology: "all-in-one", say },
  });
  expect(problems).toEqual([]);
  const answered = (name: string, statuses: RegExp) =>
    [...tally.keys()].some(
      (what) => what.startsWith(`${name} `) && statuses.test(what.slice(name.length + 1)),
    );
  // Otherwise the fuzzer has met refusals only.
  expect(operations.filter((name) => !answered(name, /^2/))).toEqual([]);
  expect(operations.filter((name) => !answered(name, /^4/))).toEqual([]);
  expect(Math.max(...memory)).toBeLessThan(MOST_MEGABYTES);
}, 2_400_000);
