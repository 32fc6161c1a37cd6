// Two commands run the tests: `npm test` is quick, `npm run test:deep` adds what takes long. A file that imports this
// runs in both, and takes its numbers, or its topologies, from here.

export type Depth = "quick" | "deep";

/** Set by scripts/test.ts. */
export const depth: Depth = process.env["TEST_DEPTH"] === "deep" ? "deep" : "quick";

/** What belongs to the command that runs now; `deep` is what `npm test` leaves out, so it need not repeat it. */
export function byDepth<T>(choices: Readonly<Record<Depth, T>>): T {
  return choices[depth];
}
