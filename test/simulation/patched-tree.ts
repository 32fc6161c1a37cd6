// A copy of this repository in which mutants are put one after the other, and in which jest runs the test that must notice. It
// uses the servers of the jest run around it.
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

/** As jest writes it with `--json`. */
interface Report {
  readonly testResults: readonly {
    /** Its path. */
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
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

  /** Those that pass without a mutant, by `nameOf`: of whole files, and of those that are named, all together. */
  async passing(tests: readonly ByTest[]): Promise<ReadonlySet<string>> {
    const passed = new Set<string>();
    for (const some of [tests.filter(({ name }) => !name), tests.filter(({ name }) => name)]) {
      if (some.length === 0) continue;
      const report = join(this.#root, "report.json");
      const names = some.flatMap(({ name = [] }) => name);
      await this.#run([...new Set(some.map(({ test }) => test))], names, "--json", `--outputFile=${report}`);
      const { testResults }: Report = JSON.parse(readFileSync(report, "utf8"));
      for (const { test, name } of some) {
        const file = testResults.find((result) => result.name.endsWith(`/${test}`));
        const statuses = (file?.assertionResults ?? [])
          .filter(({ fullName }) => new RegExp(name ?? "", "i").test(fullName))
          .map(({ status }) => status);
        if (statuses.length > 0 && statuses.every((status) => status === "passed")) {
          passed.add(nameOf({ test, name }));
        }
      }
    }
    return passed;
  }

  /** Whether the test fails with this mutant in place. @throws Error when the mutant does not fit */
  async notices({ test, name }: ByTest, mutant: Mutant): Promise<boolean> {
    const path = pathOf(mutant, this.#root);
    const source = readFileSync(path, "utf8");
    writeFileSync(path, patched(source, mutant));
    try {
      return !(await this.#run([test], name === undefined ? [] : [name]));
    } finally {
      writeFileSync(path, source);
    }
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** @param names patterns; none = all tests of these files */
  #run(tests: readonly string[], names: readonly string[], ...options: readonly string[]): Promise<boolean> {
    this.#runs += 1;
    const named = names.length === 0 ? [] : ["--testNamePattern", names.join("|")];
    const args = [
      "--experimental-vm-modules",
      "--no-warnings",
      JEST,
      "--silent",
      "--runInBand",
      ...options,
      "--runTestsByPath",
      ...tests,
      ...named,
    ];
    return new Promise((resolve, reject) => {
      const jest = spawn(process.execPath, args, {
        cwd: this.#root,
        env: { ...this.#env, TEST_DEPTH: "quick", [OWN_TEMPLATES]: `mutant_${this.#runs}_` },
        stdio: "ignore",
      });
      jest.once("error", reject);
      jest.once("close", (code) => resolve(code === 0));
    });
  }
}

export function nameOf({ test, name }: ByTest): string {
  return name === undefined ? test : `${test}: ${name}`;
}
