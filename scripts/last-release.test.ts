// The source of the last release, in clones that have its commit and in those that do not.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { writeSource } from "./last-release.ts";

const NAMED = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];

let folder: string;
let shallow: string;
let released: string;
const git = async (cwd: string, ...args: string[]) =>
  (await promisify(execFile)("git", [...NAMED, ...args], { cwd })).stdout.trim();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "last-release-"));
  const origin = join(folder, "origin");
  await mkdir(origin);
  await git(origin, "init", "--quiet");
  for (const version of ["released", "today"]) {
    await writeFile(join(origin, "version"), version);
    await git(origin, "add", ".");
    await git(origin, "commit", "--quiet", "--message", version);
    if (version === "released") released = await git(origin, "rev-parse", "HEAD");
  }
  shallow = join(folder, "shallow");
  await git(folder, "clone", "--quiet", "--depth", "1", `file://${origin}`, shallow);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a clone without the commit, and without where it came from, says what is missing", async () => {
  await git(shallow, "remote", "rename", "origin", "elsewhere");
  await expect(writeSource(released, join(folder, "none"), shallow)).rejects.toThrow(
    `The commit ${released} is neither in this clone nor where it was cloned from; a whole clone has it`,
  );
  await git(shallow, "remote", "rename", "elsewhere", "origin");
});

test("a clone without history gets the commit from where it came from", async () => {
  await expect(git(shallow, "cat-file", "-e", released)).rejects.toThrow();
  const source = join(folder, "source");
  await writeSource(released, source, shallow);
  expect(await readFile(join(source, "version"), "utf8")).toBe("released");
});
