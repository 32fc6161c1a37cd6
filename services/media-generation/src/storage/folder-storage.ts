// FolderStorage hosts files in a folder with 256 subfolders. Several processes may share it.
// A file is written in drafts/ and moved to its final path when it is complete.
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type MediaStorage, StorageError } from "./media-storage.ts";
import { readOnDemand } from "./read-on-demand.ts";

/** Age after which a draft's process counts as dead, in milliseconds. */
const DRAFT_LIFE_MS = 3_600_000;
/** A block of most file systems: a smaller file may fit on a full disk. */
const PROBE = Buffer.alloc(4_096, 1);

/** @param folder absolute or relative to the working directory; created if it is missing. */
export async function createFolderStorage(folder: string): Promise<MediaStorage> {
  // The names of the files are their secrets, so other users must not list the folder.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const drafts = join(folder, "drafts");
  const pathOf = (name: string) => join(folder, name.slice(0, 2), name);
  return {
    async put(name, content) {
      const path = pathOf(name);
      const draft = join(drafts, randomUUID());
      try {
        await stored(mkdir(drafts, { recursive: true }));
        await stored(mkdir(dirname(path), { recursive: true }));
        await writeDurably(draft, content);
        await stored(rename(draft, path));
      } catch (error) {
        await stored(rm(draft, { force: true }));
        throw error;
      }
    },
    async size(name) {
      try {
        return (await stat(pathOf(name))).size;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    read: (name, range) => readOnDemand(pathOf(name), range),
    delete: (name) => rm(pathOf(name), { force: true }),
    sweep: () => removeOld(drafts, Date.now() - DRAFT_LIFE_MS),
    check: () => tryToWrite(drafts),
  };
}

/** Writes a real file: a full or read-only disk does not change the access rights. */
async function tryToWrite(drafts: string): Promise<void> {
  // Without its parents: a lost folder must not be created again unnoticed.
  await mkdir(drafts).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const probe = join(drafts, `probe-${randomUUID()}`);
  try {
    await writeDurably(probe, PROBE);
  } finally {
    await rm(probe, { force: true });
  }
}

async function removeOld(folder: string, before: number): Promise<void> {
  try {
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if ((await stat(path)).mtimeMs < before) await rm(path, { force: true });
    }
  } catch (error) {
    // No file was stored yet, or another process has moved or deleted the file.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

async function writeDurably(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const file = await stored(open(path, "wx"));
  try {
    const pieces = content instanceof Uint8Array ? [content] : content;
    for await (const piece of pieces) await stored(file.writeFile(piece));
    await stored(file.sync());
  } finally {
    await stored(file.close());
  }
}

/** Distinguishes a failure of the folder from a failure of the content. */
function stored<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause) => {
    throw new StorageError(`the file could not be written: ${(cause as Error).message}`, { cause });
  });
}
