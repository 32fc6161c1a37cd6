// Debian's Redis without installing it: the packages are downloaded by apt and unpacked into a folder of ours.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedError } from "./embedded-error.ts";
import { runCommand } from "./run-command.ts";

const PACKAGES = ["redis-server", "redis-tools", "liblzf1", "libhiredis0.14", "libjemalloc2", "libatomic1"];
const LUA_PACKAGES = ["liblua5.1-0", "lua-bitop", "lua-cjson"];
const REMEDY =
  'install it with "apt-get install redis-server" (Debian, Ubuntu) or "brew install redis" (macOS)';

/** @throws EmbeddedError with the command that mends it. */
export async function unpackRedis(cacheDir: string): Promise<{ binary: string; libraries: string }> {
  const root = join(cacheDir, "redis");
  if (!existsSync(root)) await fill(cacheDir, root);
  const libraries = join(root, "usr/lib", libraryTriplet());
  return { binary: join(root, "usr/bin/redis-server"), libraries };
}

async function fill(cacheDir: string, root: string): Promise<void> {
  mkdirSync(cacheDir, { recursive: true });
  const draft = mkdtempSync(join(cacheDir, "redis-new-"));
  try {
    const names = [...PACKAGES, ...LUA_PACKAGES];
    // As root, apt downloads as its own unprivileged user unless told otherwise, who may not write here.
    const apt = ["-o", "APT::Sandbox::User=root", "download", ...names];
    let result = await runCommand("apt-get", apt, { cwd: draft });
    if (result.code !== 0 && result.code !== null && process.getuid?.() === 0) {
      await runCommand("apt-get", ["update"], { cwd: draft });
      result = await runCommand("apt-get", apt, { cwd: draft });
    }
    if (result.code !== 0) throw new EmbeddedError(`No Redis server was found; ${REMEDY}.`);
    for (const file of readdirSync(draft).filter((name) => name.endsWith(".deb"))) {
      const { code } = await runCommand("dpkg", ["-x", file, "."], { cwd: draft });
      if (code !== 0) throw new EmbeddedError(`Redis could not be unpacked; ${REMEDY}.`);
      rmSync(join(draft, file));
    }
    renameSync(draft, root);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function libraryTriplet(): string {
  return process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}
