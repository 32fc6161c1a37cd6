// The record of the cluster test depends on the covered files, as git sees them, and on nothing else.
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { build } from "esbuild";
import { ROOT } from "./layout.ts";
import { compare, coveredFiles, type Verified } from "./verified.ts";

const COVERED = ["deploy", "Dockerfile", ":(exclude)*.md"];
let folder: string;
let original: string;
/** Digest of the original. */
let unchanged: string;

const git = (cwd: string, ...words: string[]) =>
  execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...words], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
const digestOf = async (root: string) => (await coveredFiles(root, COVERED)).digest;

let copies = 0;
/** A copy of the original by git, if there are options for it, or of its files. */
function copy(...options: string[]): string {
  copies += 1;
  const into = join(folder, `copy-${copies}`);
  if (options.length === 0) cpSync(original, into, { recursive: true });
  else git(folder, "clone", "--quiet", ...options, original, into);
  return into;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "verified-"));
  original = join(folder, "original");
  mkdirSync(join(original, "deploy", "base"), { recursive: true });
  writeFileSync(join(original, "deploy", "base", "a.yaml"), "kind: A\n");
  writeFileSync(join(original, "deploy", "entry.sh"), "#!/bin/sh\n");
  writeFileSync(join(original, "deploy", "README.md"), "words\n");
  writeFileSync(join(original, "Dockerfile"), "FROM a\n");
  writeFileSync(join(original, "source.ts"), "export {};\n");
  git(original, "init", "--quiet");
  git(original, "add", ".");
  git(original, "commit", "--quiet", "--message", "first");
  unchanged = await digestOf(original);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("the digest stays with", () => {
  test.each<[string, (root: string) => void, string[]]>([
    ["another place of the checkout", () => undefined, []],
    ["line endings of another system", () => undefined, ["--config", "core.autocrlf=true"]],
    ["a shallow clone", () => undefined, ["--no-local", "--depth=1"]],
    [
      "a file that git does not know",
      (root) => writeFileSync(join(root, "deploy", "b.yaml"), "kind: B\n"),
      [],
    ],
    ["a change elsewhere", (root) => appendFileSync(join(root, "source.ts"), "// more\n"), []],
    [
      "a change of an excluded file",
      (root) => appendFileSync(join(root, "deploy", "README.md"), "more\n"),
      [],
    ],
    ["a file written again as it was", (root) => writeFileSync(join(root, "Dockerfile"), "FROM a\n"), []],
    ["a commit elsewhere", (root) => git(root, "commit", "--quiet", "--allow-empty", "-m", "second"), []],
  ])("%s", async (_name, change, options) => {
    const root = copy(...options);
    change(root);
    expect(await digestOf(root)).toBe(unchanged);
  });
});

describe("the digest is another after", () => {
  test.each<[string, (root: string) => void]>([
    ["a change", (root) => appendFileSync(join(root, "deploy", "base", "a.yaml"), "spec: {}\n")],
    ["another mode", (root) => chmodSync(join(root, "deploy", "entry.sh"), 0o755)],
    ["a removal", (root) => rmSync(join(root, "deploy", "entry.sh"))],
    ["another name", (root) => git(root, "mv", "deploy/entry.sh", "deploy/begin.sh")],
    [
      "a new file that git knows",
      (root) => {
        writeFileSync(join(root, "deploy", "b.yaml"), "kind: B\n");
        git(root, "add", "deploy/b.yaml");
      },
    ],
  ])("%s, and committing that changes nothing more", async (_name, change) => {
    const root = copy();
    change(root);
    const changed = await digestOf(root);
    expect(changed).not.toBe(unchanged);
    const staged = git(root, "diff", "--cached", "--name-status");
    expect(await digestOf(root)).toBe(changed);
    expect(git(root, "diff", "--cached", "--name-status")).toBe(staged);
    git(root, "commit", "--quiet", "--all", "--message", "second");
    expect(await digestOf(root)).toBe(changed);
  });
});

test("untracked files are named", async () => {
  const root = copy();
  writeFileSync(join(root, "deploy", "b.yaml"), "kind: B\n");
  writeFileSync(join(root, "other.yaml"), "kind: B\n");
  expect((await coveredFiles(root, COVERED)).unknown).toEqual(["deploy/b.yaml"]);
});

test("a run is required unless one passed with the same files", () => {
  const passed: Verified = { passed: "", date: "2026-11-23", node: "26", kubernetes: "1.34.1", digest: "a" };
  expect(compare("a", passed)).toMatchObject({ same: true });
  expect(compare("b", passed)).toMatchObject({ same: false });
  expect(compare("a", undefined)).toMatchObject({ same: false });
});

test("every file of ours that builds the images or runs the cluster is covered, packages apart", async () => {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      ...["scripts/bootstrap.mjs", "scripts/bundle.ts"],
      ...["run.ts", "inside.ts", "connect.ts", "main.ts"].map((name) => `test/cluster/${name}`),
    ],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    metafile: true,
    write: false,
    outdir: "unwritten",
    logLevel: "silent",
  });
  const workspace = readFileSync(join(ROOT, "pnpm-workspace.yaml"), "utf8");
  const hook = /^pnpmfile: (.+)$/m.exec(workspace)?.[1] ?? "";
  const { paths } = await coveredFiles();
  const needed = [...Object.keys(metafile.inputs), hook, "Dockerfile", "skaffold.yaml", ".dockerignore"];
  expect(needed.filter((path) => !paths.includes(path))).toEqual([]);
  expect(needed.length).toBeGreaterThan(20);
  expect(paths).not.toContain("test/cluster/verified.json");
});
