// One router per data directory. The lock names its holder by pid and start time, so a lock that a kill -9 left
// behind is recognised and taken over, and a reused pid is not mistaken for the holder.
import { link, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedError } from "./embedded-error.ts";
import { identify, type ProcessIdentity } from "./process-identity.ts";

const ATTEMPTS = 5;

export interface DataDirLock {
  release(): Promise<void>;
}

/** @throws EmbeddedError when another process holds the directory. */
export async function lockDataDir(dir: string): Promise<DataDirLock> {
  const path = join(dir, "router.lock");
  const me = identify(process.pid);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, JSON.stringify(me));
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // A hard link either appears whole or not at all.
      if (await tryLink(draft, path)) return { release: () => unlink(path) };
      const holder = await holderOf(path);
      if (holder !== undefined) {
        throw new EmbeddedError(
          `The data directory ${dir} is in use by process ${holder.pid}; stop it, or set DATA_DIR to another folder.`,
        );
      }
      await removeStale(path);
    }
    throw new EmbeddedError(`The data directory ${dir} could not be locked; try again.`);
  } finally {
    await unlink(draft);
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new EmbeddedError(`Cannot write in ${to}: ${(error as Error).message}.`);
  }
}

/** The live holder; undefined when the lock is stale or gone. */
async function holderOf(path: string): Promise<ProcessIdentity | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  let named: Partial<ProcessIdentity>;
  try {
    named = JSON.parse(text);
  } catch {
    // Not a lock that we wrote: nobody holds it.
    return undefined;
  }
  const live = identify(Number(named.pid));
  return live !== undefined && live.startedAt === named.startedAt ? live : undefined;
}

/** Moves the lock away before judging it, so that a fresh lock of a faster process is noticed and put back. */
async function removeStale(path: string): Promise<void> {
  const aside = `${path}.stale.${process.pid}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if ((await holderOf(aside)) !== undefined) await tryLink(aside, path);
  await unlink(aside);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
