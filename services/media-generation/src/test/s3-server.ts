// A server for S3's protocol, signatures included, with one bucket; its folder of files is deleted at its end.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";

export const BUCKET = "generated-media";
/** The only valid key. */
export const S3_KEY = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
const OBJECT = "._S3rver_object";

export interface S3Server {
  readonly url: string;
  /** Settings for a router that uses it. */
  readonly env: Readonly<Record<string, string>>;
  /** Keys of the objects in the bucket. */
  keys(): Promise<string[]>;
  empty(): Promise<void>;
  stop(): Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), "s3-"));
  const configureBuckets = [{ name: BUCKET }];
  const server = new S3rver({ address: "127.0.0.1", port: 0, directory, silent: true, configureBuckets });
  const { port } = await server.run();
  const url = `http://127.0.0.1:${port}`;
  const bucket = join(directory, BUCKET);
  return {
    url,
    env: {
      MEDIA_S3_BUCKET: BUCKET,
      MEDIA_S3_ENDPOINT: url,
      MEDIA_S3_ACCESS_KEY_ID: S3_KEY.accessKeyId,
      MEDIA_S3_SECRET_ACCESS_KEY: S3_KEY.secretAccessKey,
    },
    keys: async () => {
      const found = await readdir(bucket, { recursive: true });
      return found.filter((path) => path.endsWith(OBJECT)).map((path) => path.slice(0, -OBJECT.length));
    },
    empty: async () => {
      for (const name of await readdir(bucket)) await rm(join(bucket, name), { recursive: true });
    },
    stop: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
