// Redis packages of Debian and Ubuntu run without an installation: apt lists the missing packages and downloads them.
// They are unpacked into a folder of ours. An existing folder is complete and runs.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedError } from "../process/embedded-error.ts";
import { type CommandResult, runCommand } from "../process/run-command.ts";

export interface RedisProgram {
  readonly binary: string;
  /** LD_LIBRARY_PATH for a program that is not installed. */
  readonly libraries: string | undefined;
}

const DRAFT = "redis-new-";
const MISSING =
  "Redis is missing: install it with `apt-get install redis-server` (Debian, Ubuntu) or `brew install redis` (macOS).";

/** @throws EmbeddedError that names the command which installs Redis. */
export async function unpackRedis(cacheDir: string): Promise<RedisProgram> {
  const place = join(cacheDir, `redis-${process.arch}`);
  if (!existsSync(place)) await fill(cacheDir, place);
  return await programIn(place);
}

async function fill(cacheDir: string, place: string): Promise<void> {
  await mkdir(cacheDir, { recursive: true });
  const draft = await mkdtemp(join(cacheDir, DRAFT));
  try {
    if (!(await download(draft))) throw new EmbeddedError(MISSING);
    for (const file of await readdir(draft)) {
      const { code } = await runCommand("dpkg", ["-x", file, "."], { cwd: draft });
      if (code !== 0) throw new EmbeddedError(MISSING);
      await rm(join(draft, file));
    }
    const { binary, libraries } = await programIn(draft);
    const { code } = await runCommand(binary, ["--version"], { env: { LD_LIBRARY_PATH: libraries } });
    if (code !== 0) throw new EmbeddedError(MISSING);
    // Another process may have been faster; its folder is equivalent.
    await rename(draft, place).catch((error) => {
      if (!existsSync(place)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function download(folder: string): Promise<boolean> {
  if (await downloadKnown(folder)) return true;
  // No package lists yet, or old ones. Only root may fetch them.
  if (process.getuid?.() !== 0) return false;
  await apt(["update"], folder);
  return await downloadKnown(folder);
}

async function downloadKnown(folder: string): Promise<boolean> {
  const plan = await apt(["--simulate", "--no-install-recommends", "install", "redis-server"], folder);
  const names = [...plan.output.matchAll(/^Inst (\S+)/gm)].flatMap(([, name]) => name ?? []);
  if (plan.code !== 0 || names.length === 0) return false;
  return (await apt(["download", ...names], folder)).code === 0;
}

function apt(args: readonly string[], cwd: string): Promise<CommandResult> {
  // As root, apt would download as its own user, which may not write here.
  return runCommand("apt-get", ["-o", "APT::Sandbox::User=root", ...args], { cwd });
}

async function programIn(place: string): Promise<RedisProgram> {
  const parent = join(place, "usr/lib");
  const architectures = (await readdir(parent)).filter((name) => name.includes("-linux-"));
  const libraries = architectures.map((name) => join(parent, name)).join(":");
  return { binary: join(place, "usr/bin/redis-server"), libraries };
}
