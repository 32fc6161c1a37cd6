// MediaName creates and checks names of hosted files: 160 random bits and an extension. No name can be guessed or
// derived from another, and only valid names reach the storage.
import { randomBytes } from "node:crypto";
import type { OutputFormat } from "../request/image-request.ts";

export const VIDEO_FORMAT = "mp4";
export type FileFormat = OutputFormat | typeof VIDEO_FORMAT;

const NAME = /^[0-9a-f]{40}(?:\.preview\.(webp)|\.(webp|jpg|png|mp4))$/;
const EXTENSION: Readonly<Record<FileFormat, string>> = {
  webp: "webp",
  jpeg: "jpg",
  png: "png",
  mp4: "mp4",
};
const CONTENT_TYPE: Readonly<Record<string, string>> = {
  webp: "image/webp",
  jpg: "image/jpeg",
  png: "image/png",
  mp4: "video/mp4",
};

/** Media types of all hosted files. */
export const HOSTED_TYPES: readonly string[] = [...new Set(Object.values(CONTENT_TYPE))];

export function createMediaName(format: FileFormat): string {
  return `${randomBytes(20).toString("hex")}.${EXTENSION[format]}`;
}

/** Returns the name of a file's thumbnail or poster. The file's name is the secret of both. */
export function previewNameOf(name: string): string {
  return name.replace(/\.\w+$/, ".preview.webp");
}

/** Undefined for a name that is not ours. */
export function contentTypeOf(name: string): string | undefined {
  const [, preview, own] = NAME.exec(name) ?? [];
  return CONTENT_TYPE[preview ?? own ?? ""];
}
