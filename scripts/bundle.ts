// `npm run bundle -- <service>… | all` writes each service into a folder under dist/bundle/ that runs under plain Node. The
// folder has one file of code, the files that the code reads (migrations, SQL functions, seed) and, for pictures, sharp's packages.
import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildConsole } from "@gr/console-app";
import { build } from "esbuild";
import { ROOT } from "./tool.ts";

interface Program {
  /** Folder of the program in this repository. */
  readonly at: string;
  /** Path of the program's entry in that folder; `src/main.ts` by default. */
  readonly main?: string;
  /** Folders that the program reads at run time, by their path from `at`; the bundle has them beside the code. */
  readonly files: readonly string[];
  /** True if the program serves the console; the bundle then has the build of the console in `console`. */
  readonly console?: boolean;
  /** True if the program draws or converts pictures. */
  readonly pictures?: boolean;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  gateway: { at: "gateway", files: [], console: true },
  keys: { at: "services/keys", files: ["migrations"] },
  console: { at: "services/console", files: ["migrations"] },
  billing: { at: "services/billing", files: ["migrations"] },
  catalog: { at: "services/catalog", files: ["migrations", "seed", "text-prices"] },
  "text-proxy": { at: "services/text-proxy", files: [] },
  "media-generation": { at: "services/media-generation", files: ["migrations"], pictures: true },
  simulator: { at: "apps/simulator", files: ["fixtures"], pictures: true },
  cli: { at: "apps/cli", files: ["../../services/catalog/seed"] },
  verify: { at: "test/cluster", main: "main.ts", files: [] },
};
export const programNames: readonly string[] = Object.keys(PROGRAMS);

/** Code that defines `require`: some packages are CommonJS and load Node's modules at run time. */
const BANNER = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;
/** Native addons that are not installed; the packages that use them also run without them. */
const ABSENT = ["pg-native"];
const NATIVE = "sharp";

/**
 * Bundles a program. The code is in `src/`, as in its source, so that it finds the folders beside it.
 * @param out folder of the bundle, which is deleted and created again
 * @returns path of the file that Node runs
 */
export async function bundleProgram(name: string, out: string): Promise<string> {
  const program = PROGRAMS[name];
  if (program === undefined)
    throw new Error(`there is no program ${name}; the programs are ${programNames.join(", ")}`);
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const main = join(out, "src", "main.js");
  await build({
    entryPoints: [join(ROOT, program.at, program.main ?? "src/main.ts")],
    outfile: main,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    // Names are kept, so that a stack trace is readable; a source map would be larger than the code.
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    legalComments: "none",
    external: [...ABSENT, ...(program.pictures === true ? [NATIVE] : [])],
    banner: { js: BANNER },
    define: { BUILD_INFO: JSON.stringify(await buildInfo()) },
    logLevel: "warning",
  });
  await writeFile(join(out, "package.json"), `${JSON.stringify({ type: "module", private: true })}\n`);
  for (const folder of program.files) {
    await cp(join(ROOT, program.at, folder), join(out, basename(folder)), { recursive: true });
  }
  if (program.console === true) {
    const pages = await buildConsole((line) => process.stderr.write(`${line}\n`));
    await cp(pages, join(out, "console"), { recursive: true });
  }
  if (program.pictures === true) await copyPackage(NATIVE, join(ROOT, program.at), join(out, "node_modules"));
  return main;
}

/** Returns the version from package.json, and the commit from BUILD_COMMIT (an image has no git), or else from git. */
async function buildInfo(): Promise<{ version: string; commit: string }> {
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  const given = process.env["BUILD_COMMIT"];
  if (given) return { version, commit: given };
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    const dirty = git("status", "--porcelain") === "" ? "" : "-dirty";
    return { version, commit: `${git("rev-parse", "--short=12", "HEAD")}${dirty}` };
  } catch {
    // The source is without git, for example an unpacked archive.
    return { version, commit: "unknown" };
  }
}

/** Copies a package and all packages that it needs on this platform; those of other platforms are not installed. */
async function copyPackage(name: string, from: string, into: string): Promise<void> {
  const folder = await folderOf(name, from);
  if (folder === undefined || (await exists(join(into, name)))) return;
  await cp(folder, join(into, name), { recursive: true, filter: (path) => !path.endsWith(".map") });
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const needed = { ...manifest.dependencies, ...manifest.optionalDependencies };
  for (const other of Object.keys(needed)) await copyPackage(other, folder, into);
}

async function folderOf(name: string, from: string): Promise<string | undefined> {
  const paths = createRequire(join(from, "package.json")).resolve.paths(name) ?? [];
  for (const path of paths) {
    if (await exists(join(path, name))) return realpath(join(path, name));
  }
  return undefined;
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const asked = process.argv.slice(2);
  const names = asked.includes("all") ? programNames : asked;
  try {
    if (names.length === 0)
      throw new Error(`no program is named; name programs, or all: ${programNames.join(", ")}`);
    for (const name of names) {
      const main = await bundleProgram(name, join(ROOT, "dist", "bundle", name));
      process.stdout.write(`${dirname(dirname(main))}\n`);
    }
  } catch (error) {
    process.stderr.write(`the bundle failed: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
