// A copy of this repository in which mutants are put one after the other, and in which jest runs the test that must notice.
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Mutant } from "./mutant.ts";
import { patched, pathOf, ROOT } from "./patch.ts";

const JEST = createRequire(import.meta.url).resolve("jest/bin/jest");

export class PatchedTree {
  readonly #root = `${mkdtempSync(join(tmpdir(), "generation-router-mutants-"))}/`;

  readonly #env: NodeJS.ProcessEnv;

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
    // Links within a package's node_modules are relative, so that those to other packages lead into the copy.
    for (const folder of packages) {
      const modules = join(ROOT, folder, "node_modules");
      if (!existsSync(modules)) continue;
      if (folder === ".") symlinkSync(modules, join(this.#root, "node_modules"));
      else
        cpSync(modules, join(this.#root, folder, "node_modules"), {
          recursive: true,
          verbatimSymlinks: true,
        });
    }
  }

  /** Whether the test passes, with a mutant in place or without. @throws Error when the mutant does not fit */
  async passes(test: string, name: string | undefined, mutant: Mutant | undefined): Promise<boolean> {
    if (mutant === undefined) return this.#run(test, name);
    const path = pathOf(mutant, this.#root);
    const source = readFileSync(path, "utf8");
    writeFileSync(path, patched(source, mutant));
    try {
      return await this.#run(test, name);
    } finally {
      writeFileSync(path, source);
    }
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  #run(test: string, name: string | undefined): Promise<boolean> {
    const named = name === undefined ? [] : ["--testNamePattern", name];
    const args = [
      "--experimental-vm-modules",
      "--no-warnings",
      JEST,
      "--silent",
      "--runTestsByPath",
      test,
      ...named,
    ];
    return new Promise((resolve, reject) => {
      const jest = spawn(process.execPath, args, {
        cwd: this.#root,
        env: { ...this.#env, TEST_DEPTH: "quick" },
        stdio: "ignore",
      });
      jest.once("error", reject);
      jest.once("close", (code) => resolve(code === 0));
    });
  }
}
