// The build of the web application runs once for each state of its sources: the name of its folder has their digest.
import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));
/** Sources of the build. */
const SOURCES = [
  "index.html",
  "package.json",
  "vite.config.ts",
  "code-groups.ts",
  "first-load.ts",
  "slim-parts.ts",
  "build.ts",
  "public",
  "src",
  "../../packages/console-api/src",
  "../../packages/request-record/src",
];
const BUILDS = join(HERE, "dist");
const NAME = "web-";
const DIGITS = 16;
const COMPRESSIBLE = /\.(?:js|css|svg|json|txt|md|webmanifest)$|\/docs\/[\w-]+\.html$/;
/** Bytes; less fits into one packet anyway. */
const LEAST_COMPRESSED = 1_000;
/** A build of other sources may still be in use by a running router. */
const KEPT_MS = 24 * 3_600_000;

/**
 * @param log receives a line before a build, which needs some seconds
 * @returns the folder of the build
 * @throws Error with the builder's output
 */
export async function buildConsole(log: (line: string) => void): Promise<string> {
  const folder = join(BUILDS, `${NAME}${await digestOfSources()}`);
  if (existsSync(folder)) return folder;
  log("Building the console…");
  // Several processes may build at once: each into a folder of its own, and the first one's is used.
  const draft = join(BUILDS, `.${NAME}${randomUUID()}`);
  try {
    await runBuilder(draft);
    await compressFiles(draft);
    await rename(draft, folder).catch((error: Error) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  await removeOldBuilds(folder);
  return folder;
}

/** Builds in a separate process, so that the router does not keep the builder's memory. */
async function runBuilder(out: string): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve("vite/package.json");
  const vite = join(dirname(manifest), "bin", "vite.js");
  // The caller may be a test, or have other settings: the build is stored for all.
  const command = ["NODE_ENV=production", process.execPath, vite];
  await promisify(execFile)(
    "env",
    [...command, "build", "--outDir", out, "--emptyOutDir", "--logLevel", "error"],
    { cwd: HERE },
  );
}

/** Writes a smaller copy in each encoding beside each file that benefits; the start page differs for each reader. */
async function compressFiles(folder: string): Promise<void> {
  const files = (await filesIn(folder)).filter((file) => COMPRESSIBLE.test(file));
  for (const file of files) {
    const bytes = await readFile(file);
    if (bytes.length < LEAST_COMPRESSED) continue;
    await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes));
    await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }));
  }
}

async function digestOfSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const source of SOURCES) {
    for (const file of await filesIn(join(HERE, source))) {
      hash.update(`${file.slice(HERE.length)}\0`).update(await readFile(file));
    }
  }
  return hash.digest("hex").slice(0, DIGITS);
}

async function filesIn(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name));
  return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
}

async function removeOldBuilds(current: string): Promise<void> {
  for (const name of await readdir(BUILDS)) {
    const folder = join(BUILDS, name);
    if (!name.startsWith(NAME) || folder === current) continue;
    const { mtimeMs } = await stat(folder);
    if (Date.now() - mtimeMs > KEPT_MS) await rm(folder, { recursive: true, force: true });
  }
}
