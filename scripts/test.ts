// `npm test`, and with `--deep` `npm run test:deep`, runs jest under this Node and passes every other argument on. The
// last line is `N passed, N failed`, alone and plain, for programs that read the log. A run without a result is one
// failure.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
const folder = mkdtempSync(join(tmpdir(), "generation-router-jest-"));
/** Handles that have kept a worker alive after its tests (scripts/jest/end-worker.cjs). */
const leftOpenFile = join(folder, "left-open");
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
    env: {
      ...process.env,
      TEST_DEPTH: deep ? "deep" : "quick",
      LEFT_OPEN_FILE: leftOpenFile,
      // A test may run tests of its own (test/recipes). Their jest is no worker of this run.
      JEST_WORKER_ID: undefined,
    },
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
  const leftOpen = readLines(leftOpenFile);
  rmSync(folder, { recursive: true });
  if (signal !== null) process.stderr.write(`jest was ended by ${signal}\n`);
  const asked = args.some((arg) => /^--(help|version|listTests|showConfig|clearCache)$/.test(arg));
  if (!asked) {
    const { passed, failed } = counts ?? { passed: 0, failed: code === 0 ? 0 : 1 };
    for (const handles of leftOpen)
      process.stderr.write(`A test file has left open what kept its worker alive: ${handles}\n`);
    process.stdout.write(`${passed} passed, ${failed + leftOpen.length} failed\n`);
  }
  process.exit(leftOpen.length > 0 ? 1 : (code ?? 1));
});

/** @returns no line if the file does not exist */
function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
