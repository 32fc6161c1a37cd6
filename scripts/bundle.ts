// `npm run bundle -- <service>… | all`: each service becomes a folder under dist/bundle/ that runs under plain Node: one
// file of code, beside it what is read from files (migrations, SQL functions, seed) and, for pictures, sharp's packages.
import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildConsole } from "@gr/console-app";
import { build } from "esbuild";
import { ROOT } from "./tool.ts";

interface Program {
  /** The folder that it has its place in. */
  readonly at: string;
  /** The file that Node runs, from there; `src/main.ts` by default. */
  readonly main?: string;
  /** Folders that it reads at run time, by their way from its own; they come to lie beside its source. */
  readonly files: readonly string[];
  /** Whether it serves the console, whose build then lies in `console`. */
  readonly console?: boolean;
  /** Whether it draws or converts pictures. */
  readonly pictures?: boolean;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  gateway: { at: "gateway", files: [], console: true },
  keys: { at: "services/keys", files: ["migrations"] },
  console: { at: "services/console", files: ["migrations"] },
  billing: { at: "services/billing", files: ["migrations", "sql"] },
  catalog: { at: "services/catalog", files: ["migrations", "seed", "text-prices"] },
  "text-proxy": { at: "services/text-proxy", files: [] },
  "media-generation": { at: "services/media-generation", files: ["migrations"], pictures: true },
  simulator: { at: "apps/simulator", files: ["fixtures"], pictures: true },
  cli: { at: "apps/cli", files: ["../../services/catalog/seed"] },
  verify: { at: "test/cluster", main: "main.ts", files: [] },
};
export const programNames: readonly string[] = Object.keys(PROGRAMS);

/** Some packages are CommonJS and ask for Node's modules when they run. */
const BANNER = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;
/** Native addons that we do not have, and that their users can be without. */
const ABSENT = ["pg-native"];
const NATIVE = "sharp";

/**
 * The code keeps the place that it has in its source, `src/`, so that it finds the folders beside it.
 * @param out its folder, made anew
 * @returns path of the file that Node runs
 */
export async function bundleProgram(name: string, out: string): Promise<string> {
  const program = PROGRAMS[name];
  if (program === undefined) throw new Error(`there is no ${name}; name some of ${programNames.join(", ")}`);
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
    // Names stay, so that a stack can be read; a source map would be larger than the code.
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

/** The version from package.json, the commit from git or, where there is none (as in an image), from BUILD_COMMIT. */
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
    // A source without git, such as an unpacked archive.
    return { version, commit: "unknown" };
  }
}

/** A package with all that it needs on this platform; those of other platforms are not installed. */
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
    if (names.length === 0) throw new Error(`name a service, or all: ${programNames.join(", ")}`);
    for (const name of names) {
      const main = await bundleProgram(name, join(ROOT, "dist", "bundle", name));
      process.stdout.write(`${dirname(dirname(main))}\n`);
    }
  } catch (error) {
    process.stderr.write(`nothing to run: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
