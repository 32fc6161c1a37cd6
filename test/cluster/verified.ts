// For which state of the files that it covers `npm run test:cluster` has passed: `verified.json`, which a whole run writes
// and which is committed. CI runs the cluster where these files are others (`--if-changed`).
import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, run } from "./commands.ts";
import { ROOT } from "./layout.ts";
import { kubernetesVersion } from "./programs.ts";

const RECORD = "test/cluster/verified.json";
/**
 * What a cluster shows and no other test does: manifests, how images are built and started, and this test itself. Not the
 * sources of services, which all other tests are for. As git's pathspecs.
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

/** The files that count, as git sees them now. */
export interface CoveredFiles {
  readonly digest: string;
  readonly paths: readonly string[];
  /** Files beside them that git does not know: they were part of a run, and are not of the digest. */
  readonly unknown: readonly string[];
}

/**
 * Of what stands in the work tree of the files that git knows, committed or not: their paths, modes and contents as git would
 * store them, so that neither the place of a checkout nor its line endings count.
 */
export async function coveredFiles(root = ROOT, covered = COVERED): Promise<CoveredFiles> {
  const draft = await mkdtemp(join(tmpdir(), "covered-"));
  try {
    const git = (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      run(["git", ...words] as unknown as Command, { cwd: root, env: { ...process.env, ...env } });
    // The changes go into an index and a store of their own, so that the checkout's stay as they are.
    const index = join(draft, "index");
    const paths = (await git(["rev-parse", "--git-path", "index", "--git-path", "objects"]))
      .trim()
      .split("\n");
    const [given, objects] = paths.map((path) => resolve(root, path)) as [string, string];
    await copyFile(given, index);
    // Older than every file, so that git looks into the files and not at their times.
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

/** @returns whether a cluster has passed with these files, and a sentence that says so */
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
      ? `the cluster test is not run: what it covers is as when ${when}`
      : `what the cluster test covers has changed since ${when}`,
  };
}

export async function lastVerified(root = ROOT): Promise<Verified | undefined> {
  const text = await readFile(join(root, RECORD), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Verified);
}

/**
 * Writes down that a whole run has passed, unless it is not certain with which files.
 * @param before of the time when it began @returns a sentence that says what came of it
 */
export async function recordRun(before: CoveredFiles): Promise<string> {
  const { digest, unknown } = await coveredFiles();
  if (digest !== before.digest) return "not recorded: files that it covers were changed while it ran";
  if (unknown.length > 0)
    return `not recorded: git does not know ${unknown.join(", ")}; add them and run it again`;
  const verified: Verified = {
    passed: "npm run test:cluster, from its first step to its last",
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    kubernetes: await kubernetesVersion(),
    digest,
  };
  await writeFile(join(ROOT, RECORD), `${JSON.stringify(verified, null, 2)}\n`);
  return `recorded in ${RECORD}; commit it with what it covers`;
}
