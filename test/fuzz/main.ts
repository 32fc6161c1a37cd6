// `npm run fuzz` sends any number of random requests. Exits with 1 on a problem, and prints the command that repeats
// it.
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz-run.ts";

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "20000" },
    seed: { type: "string", default: "1" },
    begin: { type: "string", default: "0" },
    split: { type: "boolean", default: false },
  },
});
const report = await fuzz({
  cases: Number(values.cases),
  seed: Number(values.seed),
  begin: Number(values.begin),
  topology: values.split ? "split" : "all-in-one",
  say: (line) => console.log(line),
});
console.log("\n| operation, status | answers |\n|---|--:|");
for (const [what, count] of [...report.tally].sort()) console.log(`| ${what} | ${count} |`);
console.log(
  `\nmemory after each stretch, MB: ${report.memory.map((megabytes) => megabytes.toFixed(0)).join(" ")}`,
);
for (const problem of report.problems) console.log(`\nPROBLEM ${problem}`);
console.log(
  `\nseed ${values.seed}, ${report.cases} cases, ${report.problems.length} problems; ${report.books}`,
);
process.exitCode = report.problems.length === 0 ? 0 : 1;
