// The bucket: as the folder, over the wire and signed.
import { ManualClock } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { BUCKET, S3_KEY, type S3Server, startS3Server } from "../test/s3-server.ts";
import { describeStorage, describeUnreachable } from "../test/storage-contract.ts";
import { createMediaName } from "./media-name.ts";
import { createS3Storage, type S3Options } from "./s3-storage.ts";

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(() => server.stop());
beforeEach(() => server.empty());

const options = (changed: Partial<S3Options> = {}): S3Options => ({
  bucket: BUCKET,
  prefix: "media/",
  region: "us-east-1",
  endpoint: server.url,
  credentials: S3_KEY,
  clock: new ManualClock(),
  ...changed,
});

describeStorage(() => createS3Storage(options()));

describe("a bucket", () => {
  test("has each file under the prefix, with what it is and how long it may be kept", async () => {
    const storage = await createS3Storage(options({ prefix: "router/hosted/" }));
    const name = createMediaName("mp4");
    await storage.put(name, Buffer.from("moving pictures"));
    expect(await server.keys()).toEqual([`router/hosted/${name}`]);
    await storage.check();
    expect(await server.keys()).toEqual([`router/hosted/${name}`]);
  });

  test("whose key is wrong or that does not exist is said to be unwritable", async () => {
    const wrongKey = { accessKeyId: S3_KEY.accessKeyId, secretAccessKey: "another" };
    const locked = await createS3Storage(options({ credentials: wrongKey }));
    await expect(locked.check()).rejects.toThrow(/signature/i);
    const missing = await createS3Storage(options({ bucket: "no-such-bucket" }));
    await expect(missing.check()).rejects.toThrow(/bucket/i);
  });
});

describeUnreachable(async () => {
  const gone = await startS3Server();
  await gone.stop();
  return createS3Storage(options({ endpoint: gone.url }));
});
