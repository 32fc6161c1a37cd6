// A release is prepared, checked and tagged once. Its source is found in clones with its commit and in those without.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "../tool.ts";
import { entryOf, isNewer, withEntry } from "./changelog.ts";
import { checkRelease, prepareRelease, writeSource } from "./last-release.ts";

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

test("an entry is added once, before the older ones, and found again by its version", () => {
  const first = withEntry("# Changelog\n\nText.\n", "0.2.0", "2026-11-24", ["Add a", "Repair b"]);
  const second = withEntry(first, "0.10.0", "2026-12-01", ["Add c"]);
  expect(second).toBe(
    "# Changelog\n\nText.\n\n## 0.10.0 (2026-12-01)\n\n- Add c\n\n## 0.2.0 (2026-11-24)\n\n- Add a\n- Repair b\n",
  );
  expect([entryOf(second, "0.2.0"), entryOf(second, "0.1.0")]).toEqual(["- Add a\n- Repair b", undefined]);
  expect(() => withEntry(second, "0.2.0", "2026-12-02", [])).toThrow("has an entry for 0.2.0 already");
  expect(isNewer("0.10.0", "0.2.0")).toBe(true);
  expect([isNewer("0.2.0", "0.2.0"), isNewer("0.1.9", "0.2.0")]).toEqual([false, false]);
});

describe("a repository with a release and two later commits", () => {
  const place = () => join(folder, "releasing");
  const file = (name: string) => join(place(), name);
  beforeAll(async () => {
    await mkdir(file("scripts/release"), { recursive: true });
    await mkdir(file(".ci"));
    await cp(join(ROOT, ".ci/tag-release"), file(".ci/tag-release"));
    await writeFile(file("CHANGELOG.md"), "# Changelog\n");
    await writeFile(file("compose.yaml"), "    image: generation-router/keys:0.1.0\n");
    await writeFile(file("package.json"), '{\n  "name": "a",\n  "version": "0.1.0"\n}\n');
    await git(place(), "init", "--quiet");
    for (const title of ["Release", "Add a", "Repair b"]) {
      await writeFile(file("title"), title);
      await git(place(), "add", ".");
      await git(place(), "commit", "--quiet", "--message", title);
    }
    await git(folder, "clone", "--quiet", "--bare", place(), "public.git");
    await git(place(), "remote", "add", "origin", join(folder, "public.git"));
    await released010();
  });
  const commitOf = (revision: string) => git(place(), "rev-parse", revision);
  const recorded = (version: string, commit: string) =>
    writeFile(
      file("scripts/release/last.json"),
      `${JSON.stringify({ version, commit, migrations: {} }, null, 2)}\n`,
    );
  const released010 = async () => recorded("0.1.0", await commitOf("HEAD~2"));
  const tag = () => promisify(execFile)(file(".ci/tag-release"));

  test("a new version gets its number and the titles since the last release, and no older one does", async () => {
    await expect(prepareRelease("0.1.0", "2026-11-24", place())).rejects.toThrow("is 0.1.0 already");
    await prepareRelease("0.2.0", "2026-11-24", place());
    expect(JSON.parse(await readFile(file("package.json"), "utf8"))).toEqual({ name: "a", version: "0.2.0" });
    expect(await readFile(file("compose.yaml"), "utf8")).toBe("    image: generation-router/keys:0.2.0\n");
    const changelog = await readFile(file("CHANGELOG.md"), "utf8");
    expect(changelog).toBe("# Changelog\n\n## 0.2.0 (2026-11-24)\n\n- Repair b\n- Add a\n");
  });

  test("a commit is released only with a version of its own and an entry for it", async () => {
    const last = { version: "0.2.0", commit: "a".repeat(40), migrations: {} };
    const check = (source: string) => checkRelease(source, "b".repeat(40), last);
    await expect(check(place())).rejects.toThrow(`0.2.0 is ${last.commit} already`);
    await writeFile(file("package.json"), '{ "version": "0.3.0" }');
    await expect(check(place())).rejects.toThrow("has no entry for its version, 0.3.0");
    await writeFile(file("package.json"), '{ "version": "0.2.0" }');
    expect(await checkRelease(place(), "b".repeat(40), { ...last, version: "0.1.0" })).toBe("0.2.0");
  });

  test("the recorded commit is tagged once, and a tag never moves", async () => {
    await released010();
    expect((await tag()).stdout).toBe(`v0.1.0 is now ${await commitOf("HEAD~2")}.\n`);
    expect((await tag()).stdout).toBe("v0.1.0 exists.\n");
    await recorded("0.1.0", await commitOf("HEAD"));
    await expect(tag()).rejects.toThrow(
      `names ${await commitOf("HEAD~2")} instead of ${await commitOf("HEAD")}`,
    );
    expect(await git(join(folder, "public.git"), "rev-parse", "v0.1.0")).toBe(await commitOf("HEAD~2"));
  });
});
