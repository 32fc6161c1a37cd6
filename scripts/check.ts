// `npm run check` runs all checks of the source that need no running part. With `--fix` (`npm run fix`) Biome first
// repairs its own findings. Each step prints one line; a failed step also shows the output of its tool.
import { createRequire } from "node:module";
import { checkGeneratedCode } from "./generated-code.ts";
import { checkGuidePages } from "./guides/guide-pages.ts";
import { checkRegularExpressions } from "./regular-expressions.ts";
import { checkApi, checkContract } from "./release/last-release.ts";
import { checkSettingsPages } from "./settings-pages.ts";
import { ROOT, runTool, ToolError } from "./tool.ts";
import { checkWords } from "./words.ts";

interface Step {
  readonly name: string;
  run(): Promise<void>;
}

const require = createRequire(import.meta.url);
const PARALLEL = 2;

const fix = process.argv.includes("--fix");
const format: Step = {
  name: "format and lint",
  run: () =>
    runTool("biome", [...(fix ? ["check", "--write"] : ["ci", "--error-on-warnings"]), "--colors=off"]),
};
// The longest first.
const inspect: Step[] = [
  { name: "types", run: () => runTool("tsc", ["-b"]) },
  { name: "house rules", run: () => runServerlessTests("test/tidy.test.ts") },
  { name: "regular expressions", run: checkRegularExpressions },
  { name: "words", run: checkWords },
  { name: "catalogue seed", run: () => runServerlessTests("services/catalog/src/files/seed.test.ts") },
  { name: "generated code", run: checkGeneratedCode },
  { name: "settings", run: checkSettingsPages },
  { name: "guides", run: checkGuidePages },
  { name: "contract of the last release", run: checkContract },
  { name: "API of the last release", run: checkApi },
  { name: "contract lint", run: () => runTool("buf", ["lint"], `${ROOT}/proto`) },
];

// Repairs change the files that the other steps read.
const passed = fix
  ? [await runStep(format), ...(await runSteps(inspect))]
  : await runSteps([...inspect, format]);
process.exitCode = passed.every(Boolean) ? 0 : 1;

/** A test alone, without the servers that jest's global setup starts. */
async function runServerlessTests(path: string): Promise<void> {
  const { globalSetup: _setup, globalTeardown: _teardown, ...config } = require("../jest.config.cjs");
  const serverless = JSON.stringify({ ...config, rootDir: ROOT });
  const jest = [require.resolve("jest/bin/jest"), "--config", serverless, path];
  await runTool(process.execPath, ["--experimental-vm-modules", "--no-warnings", ...jest]);
}

async function runSteps(steps: readonly Step[]): Promise<boolean[]> {
  const queue = [...steps];
  const results: boolean[] = [];
  const worker = async () => {
    for (let step = queue.shift(); step !== undefined; step = queue.shift())
      results.push(await runStep(step));
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return results;
}

async function runStep({ name, run }: Step): Promise<boolean> {
  const start = performance.now();
  const failure = await run().then(
    () => undefined,
    (error: unknown) => error,
  );
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  process.stdout.write(`${failure === undefined ? "ok    " : "FAILED"}  ${name}  ${seconds} s\n`);
  if (failure === undefined) return true;
  process.stdout.write(`${failure instanceof ToolError ? failure.message : String(failure)}\n\n`);
  return false;
}
