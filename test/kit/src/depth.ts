// Two commands run the tests: `npm test` is quick, `npm run test:deep` adds the long ones. A file that imports this
// module runs in both, and reads its numbers, or its topologies, from here.

export type Depth = "quick" | "deep";

/** Set by scripts/test.ts. */
export const depth: Depth = process.env["TEST_DEPTH"] === "deep" ? "deep" : "quick";

/** Returns the choice of the running command; `deep` has the part that `npm test` omits, so it need not repeat it. */
export function byDepth<T>(choices: Readonly<Record<Depth, T>>): T {
  return choices[depth];
}
