// Hosted files in a folder, spread over 256 subfolders. Several processes may share it.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, constants, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { MediaStorage } from "./media-storage.ts";

/** @param folder absolute or relative to the working directory; made when it is missing. */
export async function createFolderStorage(folder: string): Promise<MediaStorage> {
  await mkdir(folder, { recursive: true });
  const pathOf = (name: string) => join(folder, name.slice(0, 2), name);
  return {
    async put(name, bytes) {
      const path = pathOf(name);
      const draft = `${path}.${randomUUID()}.part`;
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
    check: () => access(folder, constants.R_OK | constants.W_OK),
  };
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
