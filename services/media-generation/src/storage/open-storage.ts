// Opens this installation's storage of hosted files: a folder, or a bucket if the settings name one.
import { join } from "node:path";
import { type Clock, OperatorError } from "@gr/runtime";
import type { MediaGenerationConfig } from "../config.ts";
import { createFolderStorage } from "./folder-storage.ts";
import type { MediaStorage } from "./media-storage.ts";
import { createS3Storage } from "./s3-storage.ts";

export interface OpenStorage {
  readonly storage: MediaStorage;
  /** Message for operators when `check` fails. */
  readonly unwritable: string;
  /** Validity of a check's result, in milliseconds. */
  readonly checkedForMs: number;
}

type StorageConfig = Pick<
  MediaGenerationConfig,
  | "DATA_DIR"
  | "MEDIA_S3_BUCKET"
  | "MEDIA_S3_PREFIX"
  | "MEDIA_S3_REGION"
  | "MEDIA_S3_ENDPOINT"
  | "MEDIA_S3_ACCESS_KEY_ID"
  | "MEDIA_S3_SECRET_ACCESS_KEY"
>;

/** @throws OperatorError for contradictory settings */
export async function openStorage(config: StorageConfig, clock: Clock): Promise<OpenStorage> {
  const bucket = config.MEDIA_S3_BUCKET;
  if (bucket === undefined) {
    const storage = await createFolderStorage(join(config.DATA_DIR, "media"));
    return { storage, unwritable: "the media folder cannot be written", checkedForMs: 3_000 };
  }
  const storage = await createS3Storage({
    bucket,
    prefix: config.MEDIA_S3_PREFIX,
    region: config.MEDIA_S3_REGION,
    endpoint: config.MEDIA_S3_ENDPOINT,
    credentials: credentialsOf(config),
    clock,
  });
  // Each check is two requests, which cost money.
  return { storage, unwritable: `the bucket ${bucket} cannot be written`, checkedForMs: 60_000 };
}

function credentialsOf(config: StorageConfig) {
  const { MEDIA_S3_ACCESS_KEY_ID: accessKeyId, MEDIA_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { accessKeyId, secretAccessKey };
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  throw new OperatorError("MEDIA_S3_ACCESS_KEY_ID and MEDIA_S3_SECRET_ACCESS_KEY must be set together.");
}
