// The folder: every visible file is complete, and a missing file is no error.
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { describeStorage } from "../test/storage-contract.ts";
import { createFolderStorage } from "./folder-storage.ts";
import { createMediaName } from "./media-name.ts";
import type { MediaStorage } from "./media-storage.ts";

describe("folder storage", () => {
  let folder: string;
  let storage: MediaStorage;
  const name = createMediaName("png");
  const bytes = Buffer.from("0123456789");
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "media-"));
    storage = await createFolderStorage(join(folder, "deep", "media"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  describeStorage(() => createFolderStorage(join(folder, "deep", "media")));

  test("leaves nothing but the file behind", async () => {
    await storage.put(name, bytes);
    const left = await readdir(join(folder, "deep", "media"), { recursive: true });
    expect(left.sort()).toEqual([name.slice(0, 2), join(name.slice(0, 2), name), "drafts"].sort());
  });

  test("sweeps up what a crash in a put has left, and nothing that may still be written", async () => {
    await storage.sweep();
    const drafts = join(folder, "deep", "media", "drafts");
    await mkdir(drafts);
    await writeFile(join(drafts, "dead"), bytes);
    await writeFile(join(drafts, "running"), bytes);
    await utimes(join(drafts, "dead"), 1, 1);
    await storage.put(name, bytes);
    await storage.sweep();
    expect(await readdir(drafts)).toEqual(["running"]);
    expect(await storage.size(name)).toBe(10);
  });

  test("check tells when the folder is gone", async () => {
    await expect(storage.check()).resolves.toBeUndefined();
    await rm(folder, { recursive: true });
    await expect(storage.check()).rejects.toThrow();
  });

  test("check really writes, and leaves nothing", async () => {
    const drafts = join(folder, "deep", "media", "drafts");
    await storage.check();
    expect(await readdir(drafts)).toEqual([]);
    // Access rights do not limit root, and some test runs use root.
    await rm(drafts, { recursive: true });
    await writeFile(drafts, "no folder");
    await expect(storage.check()).rejects.toThrow();
  });
});
