// The bucket on a production server: the same contract, and the remains of crashed uploads.
import {
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { ManualClock } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { describeStorage } from "../test/storage-contract.ts";
import { startVersityGateway, type VersityGateway } from "../test/versity-gateway.ts";
import { createMediaName } from "./media-name.ts";
import { createS3Storage } from "./s3-storage.ts";

const HOUR_MS = 3_600_000;
let gateway: VersityGateway;
beforeAll(async () => {
  gateway = await startVersityGateway();
});
afterAll(() => gateway?.stop());

const clock = new ManualClock(Date.now());
const open = () => createS3Storage({ ...gateway.options, prefix: "media/", clock });

describeStorage(open);

describe("uploads that did not end", () => {
  const bucket = () => ({ Bucket: gateway.options.bucket });
  const unfinished = async () =>
    (await gateway.client.send(new ListMultipartUploadsCommand({ ...bucket(), Prefix: "media/" }))).Uploads ??
    [];

  test("of a source that failed leave nothing", async () => {
    const storage = await open();
    async function* broken() {
      for (let sent = 0; sent < 12; sent++) yield Buffer.alloc(1024 * 1024);
      throw new Error("the provider hung up");
    }
    await expect(storage.put(createMediaName("mp4"), broken())).rejects.toThrow("hung up");
    expect(await unfinished()).toEqual([]);
  });

  test("of processes that died are swept up after an hour, and those that run are not", async () => {
    const storage = await open();
    const Key = `media/${createMediaName("mp4")}`;
    const { UploadId } = await gateway.client.send(new CreateMultipartUploadCommand({ ...bucket(), Key }));
    const part = { ...bucket(), Key, UploadId, PartNumber: 1, Body: Buffer.alloc(5 * 1024 * 1024) };
    await gateway.client.send(new UploadPartCommand(part));
    const kept = createMediaName("png");
    await storage.put(kept, Buffer.from("0123456789"));
    await storage.sweep();
    expect(await unfinished()).toHaveLength(1);
    clock.advance(2 * HOUR_MS);
    await storage.sweep();
    expect(await unfinished()).toEqual([]);
    expect(await storage.size(kept)).toBe(10);
  });
});

test("an object says what it is, and how long it may be kept", async () => {
  const storage = await open();
  const name = createMediaName("mp4");
  await storage.put(name, Buffer.from("moving pictures"));
  const head = new HeadObjectCommand({ Bucket: gateway.options.bucket, Key: `media/${name}` });
  expect(await gateway.client.send(head)).toMatchObject({
    ContentType: "video/mp4",
    ContentLength: 15,
    CacheControl: "public, max-age=31536000, immutable",
  });
});
