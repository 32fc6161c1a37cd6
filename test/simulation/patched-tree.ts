// A copy of this repository in which jest runs the tests that must notice mutants. One run has all mutants of imported modules
// (scripts/jest/variant-environment.cjs). It uses the servers of the jest run around it.
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { OWN_TEMPLATES } from "@gr/testing";
import type { ByTest, Mutant } from "./mutant.ts";
import { patched, pathOf, ROOT } from "./patch.ts";

/** Packages of this repository. */
const OWN_SCOPE = "@gr";
const JEST = createRequire(import.meta.url).resolve("jest/bin/jest");

const ENVIRONMENT = "scripts/jest/variant-environment.cjs";
/** Environment variable with the path of the list of variants. */
const VARIANTS = "TEST_VARIANTS";

/** A test on production code, which may have a mutant. */
export interface Variant {
  readonly by: ByTest;
  readonly mutant?: Mutant;
}

/** `failed` if a test failed or the file could not run; `passed` if at least one test ran. */
export type Outcome = "passed" | "failed" | "nothing ran";

/** The report of jest's option `--json`. */
interface Report {
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  /** Path of the test file. */
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string }[];
}

export class PatchedTree {
  readonly #root = `${mkdtempSync(join(tmpdir(), "generation-router-mutants-"))}/`;

  readonly #env: NodeJS.ProcessEnv;
  #runs = 0;

  /** @param env of the tests */
  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
    const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    const packages = new Set<string>();
    for (const file of listed.split("\n")) {
      if (file === "" || !existsSync(ROOT + file)) continue;
      mkdirSync(dirname(this.#root + file), { recursive: true });
      cpSync(ROOT + file, this.#root + file);
      if (file.endsWith("package.json")) packages.add(dirname(file));
    }
    for (const folder of packages) {
      const modules = join(ROOT, folder, "node_modules");
      if (!existsSync(modules)) continue;
      if (folder !== ".") this.#copyLinks(join(folder, "node_modules"));
      else this.#linkInstalled(modules);
    }
  }

  /** Links to packages of the repository are relative, so that their copies lead into the copy. */
  #copyLinks(folder: string): void {
    const options = { recursive: true, verbatimSymlinks: true };
    cpSync(join(ROOT, folder), join(this.#root, folder), options);
  }

  #linkInstalled(modules: string): void {
    mkdirSync(join(this.#root, "node_modules"));
    for (const name of readdirSync(modules)) {
      if (name === OWN_SCOPE) this.#copyLinks(join("node_modules", name));
      else symlinkSync(join(modules, name), join(this.#root, "node_modules", name));
    }
  }

  /** Runs all variants. @throws Error if a mutant does not fit */
  async run(variants: readonly Variant[]): Promise<ReadonlyMap<Variant, Outcome>> {
    const outcomes = await this.#runTogether(variants.filter(isImported));
    for (const variant of variants.filter((one) => !isImported(one))) {
      outcomes.set(variant, await this.#runOnDisk(variant));
    }
    return outcomes;
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  async #runTogether(variants: readonly Variant[]): Promise<Map<Variant, Outcome>> {
    const list = join(this.#root, "variants.json");
    const report = join(this.#root, "report.json");
    const changes = variants.map(({ by: { name }, mutant }) => {
      if (mutant === undefined) return { name };
      const path = pathOf(mutant, this.#root);
      return { name, path, text: patched(readFileSync(path, "utf8"), mutant) };
    });
    writeFileSync(list, JSON.stringify(changes));
    const copies = variants.map(({ by: { test } }, index) => {
      const copy = test.replace(/test\.ts$/, `variant-${index}.test.ts`);
      cpSync(join(this.#root, test), join(this.#root, copy));
      return copy;
    });
    await this.#startJest(list, ["--json", `--outputFile=${report}`, "--runTestsByPath", ...copies]);
    const { testResults }: Report = JSON.parse(readFileSync(report, "utf8"));
    for (const file of [...copies, "report.json"]) rmSync(join(this.#root, file));
    return new Map(
      variants.map((variant, index) => {
        const result = testResults.find(({ name }) => name.endsWith(`/${copies[index]}`));
        if (result === undefined) throw new Error(`jest does not report ${copies[index]}`);
        return [variant, outcomeOf(result)];
      }),
    );
  }

  async #runOnDisk({ by, mutant }: Variant): Promise<Outcome> {
    if (mutant === undefined) throw new Error("Only a mutant changes a file.");
    const path = pathOf(mutant, this.#root);
    const source = readFileSync(path, "utf8");
    writeFileSync(path, patched(source, mutant));
    try {
      const [outcome] = (await this.#runTogether([{ by }])).values();
      return outcome ?? "nothing ran";
    } finally {
      writeFileSync(path, source);
    }
  }

  #startJest(list: string, options: readonly string[]): Promise<void> {
    this.#runs += 1;
    const args = [
      ...["--experimental-vm-modules", "--no-warnings", JEST, "--silent", "--maxWorkers=2"],
      `--testEnvironment=${join(this.#root, ENVIRONMENT)}`,
      ...options,
    ];
    return new Promise((resolve, reject) => {
      const jest = spawn(process.execPath, args, {
        cwd: this.#root,
        env: {
          ...this.#env,
          TEST_DEPTH: "quick",
          [OWN_TEMPLATES]: `mutant_${this.#runs}_`,
          [VARIANTS]: list,
        },
        stdio: "ignore",
      });
      jest.once("error", reject);
      jest.once("close", () => resolve());
    });
  }
}

/** Other files are read by PostgreSQL's client, and tests of whole routers have modules of jest (scripts/jest/shared-modules.cjs). */
function isImported({ by: { test }, mutant }: Variant): boolean {
  return mutant === undefined || (mutant.file.endsWith(".ts") && !test.startsWith("test/"));
}

function outcomeOf({ status, assertionResults }: FileReport): Outcome {
  if (status === "failed") return "failed";
  return assertionResults.some((result) => result.status === "passed") ? "passed" : "nothing ran";
}

export function nameOf({ test, name }: ByTest): string {
  return name === undefined ? test : `${test}: ${name}`;
}
