// `npm test`, and with `--deep` `npm run test:deep`, runs jest under this Node and passes every other argument on. The
// last line is `N passed, N failed`, alone and plain, for programs that read the log. A run without a result is one
// failure.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { buildConsole } from "@gr/console-app";

export interface JestCounts {
  readonly passed: number;
  /** Failed tests, and files that could not be run at all. */
  readonly failed: number;
}

const COUNT_REPORTER = fileURLToPath(new URL("./jest/count-reporter.ts", import.meta.url));
const END_WORKER = fileURLToPath(new URL("./jest/end-worker.cjs", import.meta.url));
const JEST = createRequire(import.meta.url).resolve("jest/bin/jest");
/** Deep tests run whole routers and kill them: more at once would only wait for each other. */
const DEEP_WORKERS = "--maxWorkers=3";
/** A test file loads a thousand modules and ends soon: with the usual 16 MiB the collector runs too often. */
const YOUNG_MEMORY = "--max-semi-space-size=32";
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const deep = process.argv[2] === "--deep";
const args = process.argv.slice(deep ? 3 : 2);
const choosesWorkers = args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg));
const workers = deep && !choosesWorkers ? [DEEP_WORKERS] : [];
// Several routers start at the same time: without this, each of them builds the pages in a new clone.
if (args.length === 0) await buildConsole((line) => process.stderr.write(`${line}\n`));
const reporters = ["--reporters=default", `--reporters=${COUNT_REPORTER}`];
const jest = spawn(
  process.execPath,
  // Workers are started with the same options.
  [
    "--experimental-vm-modules",
    "--no-warnings",
    YOUNG_MEMORY,
    "--require",
    END_WORKER,
    JEST,
    ...args,
    ...workers,
    ...reporters,
  ],
  {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, TEST_DEPTH: deep ? "deep" : "quick" },
  },
);
for (const signal of STOP_SIGNALS) process.on(signal, () => jest.kill(signal));

let counts: JestCounts | undefined;
jest.on("message", (message) => {
  counts = message as JestCounts;
});
jest.once("error", (error) => {
  process.stderr.write(`jest did not start: ${error.message}\n`);
});
jest.once("close", (code, signal) => {
  if (signal !== null) process.stderr.write(`jest was ended by ${signal}\n`);
  const asked = args.some((arg) => /^--(help|version|listTests|showConfig|clearCache)$/.test(arg));
  if (!asked) {
    const { passed, failed } = counts ?? { passed: 0, failed: code === 0 ? 0 : 1 };
    process.stdout.write(`${passed} passed, ${failed} failed\n`);
  }
  process.exit(code ?? 1);
});
