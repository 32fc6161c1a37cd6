// This file owns `verified.json`, the record of the covered files with which `npm run test:cluster` last passed. A whole run
// writes the record, and a commit keeps it. CI runs the cluster if these files differ from the record (`--if-changed`).
import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, run } from "./commands.ts";
import { ROOT } from "./layout.ts";
import { kubernetesVersion } from "./programs.ts";

const RECORD = "test/cluster/verified.json";
/**
 * Files that only a cluster can test: manifests, the build and the start of images, and this test itself. The sources of
 * services are absent, because all other tests test them. The entries are git's pathspecs.
 */
export const COVERED: readonly string[] = [
  "deploy",
  "skaffold.yaml",
  "Dockerfile",
  ".dockerignore",
  "scripts/bootstrap",
  "scripts/bootstrap.mjs",
  "scripts/bundle.ts",
  "scripts/package-fixes.cjs",
  "scripts/tool.ts",
  "test/chaos/load.ts",
  "test/chaos/send-order.ts",
  "test/cluster",
  `:(exclude)${RECORD}`,
  ":(exclude)deploy/render.ts",
  ":(exclude)*.test.ts",
  ":(exclude)*.md",
  ":(exclude)*tsconfig.json",
];

/** The content of verified.json. */
export interface Verified {
  readonly passed: string;
  readonly date: string;
  readonly node: string;
  readonly kubernetes: string;
  readonly digest: string;
}

/** Covered files, as git sees them now. */
export interface CoveredFiles {
  readonly digest: string;
  readonly paths: readonly string[];
  /** Untracked files beside them: they are part of a run, but not of the digest. */
  readonly unknown: readonly string[];
}

/**
 * Returns the covered files of the work tree that git tracks, committed or not. The digest is of their paths, modes and contents
 * as git would store them. So neither the place of a checkout nor its line endings change the digest.
 */
export async function coveredFiles(root = ROOT, covered = COVERED): Promise<CoveredFiles> {
  const draft = await mkdtemp(join(tmpdir(), "covered-"));
  try {
    const git = (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      run(["git", ...words] as unknown as Command, { cwd: root, env: { ...process.env, ...env } });
    // git writes the changes into a separate index and object store, so that those of the checkout stay unchanged.
    const index = join(draft, "index");
    const paths = (await git(["rev-parse", "--git-path", "index", "--git-path", "objects"]))
      .trim()
      .split("\n");
    const [given, objects] = paths.map((path) => resolve(root, path)) as [string, string];
    await copyFile(given, index);
    // The index is older than every file, so that git compares contents and not times.
    await utimes(index, 1, 1);
    const apart = {
      GIT_INDEX_FILE: index,
      GIT_OBJECT_DIRECTORY: draft,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: objects,
    };
    await git(["add", "--update", "--", ...covered], apart);
    const listed = await git(["ls-files", "--stage", "--full-name", "-z", "--", ...covered], apart);
    const entries = listed.split("\0").filter((entry) => entry !== "");
    const words = ["ls-files", "--others", "--exclude-standard", "-z", "--", ...covered];
    const unknown = (await git(words)).split("\0").filter((path) => path !== "");
    return {
      digest: createHash("sha256").update(entries.join("\n")).digest("hex"),
      paths: entries.map((entry) => entry.slice(entry.indexOf("\t") + 1)),
      unknown,
    };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** @returns `same` if a cluster has passed with these files, and a sentence with the result */
export function compare(now: string, verified: Verified | undefined): { same: boolean; sentence: string } {
  if (verified === undefined) {
    return { same: false, sentence: `no run of the cluster test is recorded in ${RECORD}` };
  }
  const { digest, date, kubernetes } = verified;
  const same = digest === now;
  const when = `it passed on ${date} with Kubernetes ${kubernetes}`;
  return {
    same,
    sentence: same
      ? `the cluster test does not run: its covered files are unchanged since ${when}`
      : `the covered files of the cluster test have changed since ${when}`,
  };
}

export async function lastVerified(root = ROOT): Promise<Verified | undefined> {
  const text = await readFile(join(root, RECORD), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Verified);
}

/**
 * Records that a whole run has passed, if the files of the run are certain.
 * @param before covered files at the start of the run @returns a sentence with the result
 */
export async function recordRun(before: CoveredFiles): Promise<string> {
  const { digest, unknown } = await coveredFiles();
  if (digest !== before.digest) return "not recorded: covered files changed during the run";
  if (unknown.length > 0)
    return `not recorded: git does not track ${unknown.join(", ")}; add these files and repeat the run`;
  const verified: Verified = {
    passed: "npm run test:cluster, from its first step to its last",
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    kubernetes: await kubernetesVersion(),
    digest,
  };
  await writeFile(join(ROOT, RECORD), `${JSON.stringify(verified, null, 2)}\n`);
  return `recorded in ${RECORD}; commit it with the covered files`;
}
