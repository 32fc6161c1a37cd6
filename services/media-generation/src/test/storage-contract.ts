// The contract of every storage of hosted files, on any medium.
import { buffer } from "node:stream/consumers";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { createMediaName } from "../storage/media-name.ts";
import { type MediaStorage, StorageError } from "../storage/media-storage.ts";

const bytes = Buffer.from("0123456789");

/** @param open another storage on the same files each time */
export function describeStorage(open: () => Promise<MediaStorage>): void {
  describe("a storage", () => {
    let name: string;
    beforeEach(() => {
      name = createMediaName("png");
    });

    test("gives back what was put, whole or in part", async () => {
      const storage = await open();
      await storage.put(name, bytes);
      expect(await storage.size(name)).toBe(10);
      expect(await buffer(storage.read(name))).toEqual(bytes);
      expect((await buffer(storage.read(name, { start: 2, end: 4 }))).toString()).toBe("234");
    });

    test("gives back what came in pieces, also when it is long", async () => {
      const storage = await open();
      const video = createMediaName("mp4");
      const piece = Buffer.alloc(1024 * 1024 + 1, "piece");
      const pieces = Array.from({ length: 12 }, () => piece);
      await storage.put(video, inPieces(pieces));
      expect(await storage.size(video)).toBe(12 * piece.length);
      expect((await buffer(storage.read(video))).equals(Buffer.concat(pieces))).toBe(true);
      const tail = { start: 12 * piece.length - 3, end: 12 * piece.length - 1 };
      expect(await buffer(storage.read(video, tail))).toEqual(piece.subarray(-3));
    });

    test.each([1, 12])(
      "has no file of which %i MB came before its source failed, as the source does",
      async (count) => {
        const storage = await open();
        const failure = new Error("the provider hung up");
        async function* broken() {
          for (let sent = 0; sent < count; sent++) yield Buffer.alloc(1024 * 1024);
          throw failure;
        }
        await expect(storage.put(name, broken())).rejects.toBe(failure);
        expect(await storage.size(name)).toBeUndefined();
      },
    );

    test("knows what it does not have, and deleting it is no error", async () => {
      const storage = await open();
      expect(await storage.size(name)).toBeUndefined();
      await expect(buffer(storage.read(name))).rejects.toThrow();
      await storage.put(name, bytes);
      await storage.delete(name);
      await storage.delete(name);
      expect(await storage.size(name)).toBeUndefined();
    });

    test("two processes that put the same name leave one whole file", async () => {
      const [one, other] = [await open(), await open()];
      await Promise.all([one.put(name, bytes), other.put(name, bytes)]);
      expect(await buffer(one.read(name))).toEqual(bytes);
    });

    test("can be checked, and what it holds stays", async () => {
      const storage = await open();
      await storage.put(name, bytes);
      await storage.check();
      expect(await storage.size(name)).toBe(10);
    });
  });
}

/** The contract of an unreachable storage. */
export function describeUnreachable(open: () => Promise<MediaStorage>): void {
  describe("one that cannot be reached", () => {
    const name = createMediaName("png");

    test("says that it is the storage that failed", async () => {
      const storage = await open();
      await expect(storage.put(name, bytes)).rejects.toThrow(StorageError);
      await expect(storage.put(name, inPieces([bytes]))).rejects.toThrow(StorageError);
      await expect(storage.size(name)).rejects.toThrow(StorageError);
      await expect(storage.delete(name)).rejects.toThrow(StorageError);
      await expect(buffer(storage.read(name))).rejects.toThrow();
      await expect(storage.check()).rejects.toThrow();
    });
  });
}

async function* inPieces(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
