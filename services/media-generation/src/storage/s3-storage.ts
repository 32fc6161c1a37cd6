// S3Storage hosts files in a bucket of S3 or of a compatible service. Several processes may share it.
// A file appears when its upload is completed, so it is never visible in part.
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { MultipartUpload, S3ClientConfig } from "@aws-sdk/client-s3";
import type { Clock } from "@gr/runtime";
import { contentTypeOf } from "./media-name.ts";
import { type MediaStorage, StorageError } from "./media-storage.ts";

export interface S3Options {
  readonly bucket: string;
  /** Common prefix of all object names. */
  readonly prefix: string;
  readonly region: string;
  /** Address of a service other than AWS; buckets are then named in the path. */
  readonly endpoint?: string | undefined;
  /** Undefined: the AWS SDK uses its default sources. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  readonly clock: Clock;
}

/** Smallest part that S3 accepts, in bytes. An upload has one part in memory, and one part of the following bytes. */
const PART_BYTES = 5 * 1024 * 1024;
/** Age after which an upload's process counts as dead, in milliseconds. */
const UPLOAD_LIFE_MS = 3_600_000;
/** Connections at most. Each download by a client uses one. */
const MOST_CONNECTIONS = 1_000;
const CONNECT_MS = 3_000;
/** Above the longest pause of a client within its download, in milliseconds. */
const SILENCE_MS = 120_000;
const CACHE_CONTROL = "public, max-age=31536000, immutable";
const NOT_FOUND = 404;
const NOT_IMPLEMENTED = 501;

/** Sends no request. `check` finds out whether the bucket accepts files. */
export async function createS3Storage(options: S3Options): Promise<MediaStorage> {
  // The SDK loads slowly, and most installations use a folder.
  const s3 = await import("@aws-sdk/client-s3");
  const { Upload } = await import("@aws-sdk/lib-storage");
  const { bucket: Bucket, prefix, clock } = options;
  const client = new s3.S3Client(settingsOf(options));
  const at = (name: string) => ({ Bucket, Key: prefix + name });

  async function upload(name: string, Body: Uint8Array | Readable): Promise<void> {
    const ContentType = contentTypeOf(name) ?? "application/octet-stream";
    const params = { ...at(name), Body, ContentType, CacheControl: CACHE_CONTROL };
    // One part at a time. The uploaded parts of a failed file are aborted.
    await new Upload({ client, params, partSize: PART_BYTES, queueSize: 1 }).done();
  }

  async function* unfinishedUploads(): AsyncGenerator<MultipartUpload> {
    let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {};
    while (after !== undefined) {
      const page: Awaited<ReturnType<typeof list>> = await list(after);
      yield* page.Uploads ?? [];
      const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
      after = IsTruncated === true && KeyMarker !== undefined ? { KeyMarker, UploadIdMarker } : undefined;
    }
  }
  const list = (after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined }) =>
    client.send(new s3.ListMultipartUploadsCommand({ Bucket, Prefix: prefix, ...after }));

  return {
    async put(name, content) {
      if (content instanceof Uint8Array) return stored("written", upload(name, content));
      const source = watch(content);
      const body = Readable.from(source.pieces, { objectMode: false });
      try {
        await upload(name, body);
      } catch (error) {
        if (source.failure() !== undefined) throw source.failure();
        throw storageError("written", error);
      } finally {
        body.destroy();
      }
    },
    async size(name) {
      const head = client.send(new s3.HeadObjectCommand(at(name)));
      return (await stored("looked for", head.catch(unlessStatus(NOT_FOUND))))?.ContentLength;
    },
    read(name, range) {
      const closed = new AbortController();
      const Range = range && `bytes=${range.start}-${range.end}`;
      async function* pieces(): AsyncGenerator<Uint8Array> {
        const get = new s3.GetObjectCommand({ ...at(name), Range });
        const { Body } = await client.send(get, { abortSignal: closed.signal });
        yield* Body as Readable;
      }
      return Readable.from(pieces(), { objectMode: false }).once("close", () => closed.abort());
    },
    async delete(name) {
      const remove = client.send(new s3.DeleteObjectCommand(at(name)));
      await stored("removed", remove.catch(unlessStatus(NOT_FOUND)));
    },
    async sweep() {
      try {
        for await (const { Key, UploadId, Initiated } of unfinishedUploads()) {
          if (Initiated === undefined || Initiated.getTime() > clock.now() - UPLOAD_LIFE_MS) continue;
          const abort = new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId });
          // Another process may have aborted it first.
          await client.send(abort).catch(unlessStatus(NOT_FOUND));
        }
      } catch (error) {
        // Some services have no list of uploads.
        unlessStatus(NOT_IMPLEMENTED)(error);
      }
    },
    async check() {
      const probe = at(`probe-${randomUUID()}`);
      await client.send(new s3.PutObjectCommand({ ...probe, Body: "probe" }));
      await client.send(new s3.DeleteObjectCommand(probe));
    },
  };
}

function settingsOf({ region, endpoint, credentials }: S3Options): S3ClientConfig {
  return {
    region,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    // Other services than AWS refuse checksums that are newer than the protocol.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      httpAgent: { maxSockets: MOST_CONNECTIONS },
      httpsAgent: { maxSockets: MOST_CONNECTIONS },
    },
  };
}

/** Distinguishes a failure of the bucket from a failure of the content. */
function watch(content: AsyncIterable<Uint8Array>) {
  let failure: unknown;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield* content;
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  return { pieces: pieces(), failure: () => failure };
}

const stored = <T>(what: string, work: Promise<T>): Promise<T> =>
  work.catch((error) => {
    throw storageError(what, error);
  });

const storageError = (what: string, cause: unknown) =>
  new StorageError(`the file could not be ${what}: ${(cause as Error).message}`, { cause });

function unlessStatus(status: number): (error: unknown) => undefined {
  return (error) => {
    const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
    if ($metadata?.httpStatusCode !== status) throw error;
  };
}
