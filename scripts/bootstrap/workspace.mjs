// This file installs the packages of the workspace if the lockfile or a manifest differs from the stamp. The stamp is written
// last, so a killed install is noticed, deleted and repeated.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { FETCH_RETRIES, runInstaller } from "./installer.mjs";
import { CACHE, note, ROOT } from "./layout.mjs";
import { readyPnpm } from "./toolchain.mjs";

const STAMP = path.join(CACHE, "bootstrap-stamp");
const UNFINISHED = "unfinished";

export function workspaceIsReady() {
  return readStamp() === fingerprint();
}

export async function installWorkspace() {
  const pnpm = await readyPnpm();
  if (readStamp() === UNFINISHED) removePackages();
  writeStamp(UNFINISHED);
  note("installing the packages…");
  const retries = FETCH_RETRIES.map((flag) => `--config.${flag}`);
  const args = ["install", "--frozen-lockfile", "--reporter=append-only", ...retries];
  await runInstaller("the packages", pnpm, args, ROOT);
  writeStamp(fingerprint());
}

function readStamp() {
  return existsSync(STAMP) ? readFileSync(STAMP, "utf8") : undefined;
}

function writeStamp(text) {
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(`${STAMP}.new`, text);
  renameSync(`${STAMP}.new`, STAMP);
}

/** Returns a hash of all files that decide the installed packages, and of the platform: a container may share the clone. */
function fingerprint() {
  const hash = createHash("sha256").update(`${process.platform}-${process.arch}`);
  const manifests = packageFolders().map((folder) => path.join(folder, "package.json"));
  for (const file of ["pnpm-lock.yaml", "pnpm-workspace.yaml", ...manifests]) {
    hash.update(`\0${file}\0`).update(readFileSync(path.join(ROOT, file)));
  }
  return hash.digest("hex");
}

function removePackages() {
  for (const folder of packageFolders()) {
    rmSync(path.join(ROOT, folder, "node_modules"), { recursive: true, force: true });
  }
}

/** Returns the root and every folder that a line of `packages:` names. The patterns in use are `folder` and `folder/*`. */
function packageFolders() {
  const list =
    /^packages:\n((?: +- .*\n)+)/m.exec(readFileSync(path.join(ROOT, "pnpm-workspace.yaml"), "utf8"))?.[1] ??
    "";
  const patterns = list.split("\n").flatMap((line) => /- ["']?([^"'\s]+)/.exec(line)?.[1] ?? []);
  const folders = patterns.flatMap((pattern) =>
    pattern.endsWith("/*") ? subfolders(pattern.slice(0, -2)) : [pattern],
  );
  return [".", ...folders.filter((folder) => existsSync(path.join(ROOT, folder, "package.json")))];
}

function subfolders(parent) {
  return readdirSync(path.join(ROOT, parent))
    .sort()
    .map((name) => path.join(parent, name));
}
