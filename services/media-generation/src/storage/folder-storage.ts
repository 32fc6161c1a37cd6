// Hosted files in a folder, spread over 256 subfolders. Several processes may share it. A file is written under
// drafts/ and moved to its place when it is whole.
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type MediaStorage, StorageError } from "./media-storage.ts";
import { readOnDemand } from "./read-on-demand.ts";

/** A put that takes longer than this has died. */
const DRAFT_LIFE_MS = 3_600_000;
/** A block of most file systems: less may fit when nothing else does. */
const PROBE = Buffer.alloc(4_096, 1);

/** @param folder absolute or relative to the working directory; made when it is missing. */
export async function createFolderStorage(folder: string): Promise<MediaStorage> {
  // The names of the files are what their owners know them by.
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

/** Really: a disk that is full, or was mounted anew to be read only, leaves the rights to write as they were. */
async function tryToWrite(drafts: string): Promise<void> {
  // Not with its parents: a folder that has gone is not made again unnoticed.
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
    // No put has happened yet, or another process has moved or removed the file meanwhile.
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

/** Tells a failure of the folder from one of whatever is to be written. */
function stored<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause) => {
    throw new StorageError(`the file could not be written: ${(cause as Error).message}`, { cause });
  });
}
