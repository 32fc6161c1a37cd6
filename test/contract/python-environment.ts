// The Python of clients: a venv outside the checkout with exactly the packages of a file with digests, created once and
// kept. Only `npm run test:deep` and `npm run test:clients` need it. Invariant: a folder with its final name is complete.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const here = (file: string) => fileURLToPath(new URL(`./python/${file}`, import.meta.url));
const OLDEST = "3.10";
const OLDEST_OF_TOOLS = "3.11";

/** Time for the first run, which installs a hundred packages. */
export const INSTALL_MS = 1_800_000;

/** Returns the interpreter with the packages of the clients in Python. @throws Error as `pythonWith` */
export const clientPython = () => pythonWith(here("requirements.txt"));

/** Returns the interpreter with the tools that read the description of the API. @throws Error as `pythonWith` */
export const descriptionPython = () => pythonWith(here("description-requirements.txt"), OLDEST_OF_TOOLS);

/**
 * Returns the interpreter of a venv.
 * @param requirements file with the packages and their digests @param oldest version of Python with all the packages
 * @throws Error with one sentence if there is no suitable Python
 */
export async function pythonWith(requirements: string, oldest = OLDEST): Promise<string> {
  const system = await systemPython(oldest);
  const { stdout: version } = await run(system, ["--version"]);
  const digest = createHash("sha256")
    .update(`${system}\n${version}`)
    .update(await readFile(requirements));
  const cache =
    process.env["GR_PYTHON_CACHE"] ??
    join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "generation-router", "python");
  const place = join(cache, digest.digest("hex").slice(0, 16));
  if (!existsSync(place)) await create(system, cache, place, requirements);
  return join(place, "bin", "python");
}

async function systemPython(oldest: string): Promise<string> {
  const check = `import sys, venv, ensurepip; sys.exit(sys.version_info < (${oldest.replace(".", ", ")}))`;
  for (const python of ["/usr/bin/python3", "python3"]) {
    try {
      await run(python, ["-c", check]);
      return python;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }
  throw new Error(
    `These tests need a python3 of at least ${oldest} with venv and pip, and none is found: install python3 and python3-venv.`,
  );
}

/** Creates it under another name until it is complete: a parallel run creates another. */
async function create(python: string, cache: string, place: string, requirements: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, "draft-"));
  try {
    await run(python, ["-m", "venv", draft]);
    const options = [
      "--require-hashes",
      "--only-binary=:all:",
      "--no-input",
      "--disable-pip-version-check",
      "--quiet",
    ];
    await run(join(draft, "bin", "python"), ["-m", "pip", "install", ...options, "-r", requirements], {
      maxBuffer: 64 * 1024 * 1024,
    });
    await rename(draft, place);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (existsSync(place)) return;
    const [why = ""] = String(error).trim().split("\n").slice(-1);
    throw new Error(`The packages of the clients in Python could not be installed: ${why}`, { cause: error });
  }
}
