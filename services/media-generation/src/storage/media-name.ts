// Names of hosted files: 160 random bits and an extension. Nobody can guess one, one does not lead to another, and
// nothing but such a name ever reaches the storage.
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

/** Of everything that is hosted. */
export const HOSTED_TYPES: readonly string[] = [...new Set(Object.values(CONTENT_TYPE))];

export function makeMediaName(format: FileFormat): string {
  return `${randomBytes(20).toString("hex")}.${EXTENSION[format]}`;
}

/** Of the thumbnail or poster of a file: who knows the one, knows the other. */
export function previewNameOf(name: string): string {
  return name.replace(/\.\w+$/, ".preview.webp");
}

/** Undefined when it is not one of our names. */
export function contentTypeOf(name: string): string | undefined {
  const [, preview, own] = NAME.exec(name) ?? [];
  return CONTENT_TYPE[preview ?? own ?? ""];
}
