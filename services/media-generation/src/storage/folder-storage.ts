// Hosted files in a folder, spread over 256 subfolders. Several processes may share it. A file is written under
// drafts/ and moved to its place when it is whole.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, constants, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { MediaStorage } from "./media-storage.ts";

/** A put that takes longer than this has died. */
const DRAFT_LIFE_MS = 3_600_000;

/** @param folder absolute or relative to the working directory; made when it is missing. */
export async function createFolderStorage(folder: string): Promise<MediaStorage> {
  // The names of the files are what their owners know them by.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const drafts = join(folder, "drafts");
  const pathOf = (name: string) => join(folder, name.slice(0, 2), name);
  return {
    async put(name, bytes) {
      const path = pathOf(name);
      const draft = join(drafts, randomUUID());
      await mkdir(drafts, { recursive: true });
      await mkdir(dirname(path), { recursive: true });
      try {
        await writeDurably(draft, bytes);
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
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
    read: (name, range) => createReadStream(pathOf(name), range),
    delete: (name) => rm(pathOf(name), { force: true }),
    sweep: () => removeOld(drafts, Date.now() - DRAFT_LIFE_MS),
    check: () => access(folder, constants.R_OK | constants.W_OK),
  };
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

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}
