// Names of hosted files: 160 random bits and an extension. Nobody can guess one, one does not lead to another, and
// nothing but such a name ever reaches the storage.
import { randomBytes } from "node:crypto";
import type { OutputFormat } from "../request/image-request.ts";

const NAME = /^[0-9a-f]{40}\.(webp|jpg|png)$/;
const EXTENSION: Readonly<Record<OutputFormat, string>> = { webp: "webp", jpeg: "jpg", png: "png" };
const CONTENT_TYPE: Readonly<Record<string, string>> = {
  webp: "image/webp",
  jpg: "image/jpeg",
  png: "image/png",
};

export function makeMediaName(format: OutputFormat): string {
  return `${randomBytes(20).toString("hex")}.${EXTENSION[format]}`;
}

/** Undefined when it is not one of our names. */
export function contentTypeOf(name: string): string | undefined {
  return CONTENT_TYPE[NAME.exec(name)?.[1] ?? ""];
}
