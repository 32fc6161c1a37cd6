// A run from source names its version and its commit.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { buildInfo, sourceInfo } from "./build-info.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "generation-router-build-"));
});
afterEach(() => rm(root, { recursive: true }));

test("is the version of the package, and the commit of the branch or of the head itself", async () => {
  await writeFile(join(root, "package.json"), '{ "version": "1.2.3" }');
  await mkdir(join(root, ".git/refs/heads"), { recursive: true });
  await writeFile(join(root, ".git/HEAD"), "ref: refs/heads/main\n");
  expect(sourceInfo(root)).toEqual({ version: "1.2.3-source", commit: "unknown" });
  await writeFile(join(root, ".git/refs/heads/main"), `${COMMIT}\n`);
  expect(sourceInfo(root)).toEqual({ version: "1.2.3-source", commit: "0123456789ab" });
  await writeFile(join(root, ".git/HEAD"), `${COMMIT}\n`);
  expect(sourceInfo(root).commit).toBe("0123456789ab");
});

test("without a repository is unknown, and never a failure", () => {
  expect(sourceInfo(root)).toEqual({ version: "source", commit: "unknown" });
  expect(buildInfo.version).toMatch(/^\d+\.\d+\.\d+-source$/);
});
