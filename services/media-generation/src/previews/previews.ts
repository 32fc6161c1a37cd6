// Previews draws small WebP pictures of hosted files, for lists of generations.
// A failure does not affect the generation, which then has no preview.
import type { FairGate, Logger } from "@gr/runtime";
import { Counter, type Registry } from "prom-client";
import type { Sharp } from "sharp";
import { pixelsToDecode } from "../inputs/picture-header.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { MAX_PIXELS } from "../storage/picture-format.ts";
import { decodeWithFfmpeg } from "./ffmpeg.ts";
import { readFirstPicture } from "./first-picture.ts";

/** Longest sides, in pixels. */
const THUMBNAIL = 320;
const POSTER = 640;
const QUALITY = 75;
const MAX_SECONDS = 10;

export interface Previews {
  /**
   * @param picture the hosted bytes. @param owner account that provides the share. @returns
   * undefined if it could not be drawn
   */
  thumbnailOf(picture: Buffer, owner: string): Promise<Buffer | undefined>;
  /** @param name of a hosted video. @returns undefined if the poster could not be drawn */
  posterOf(name: string, owner: string): Promise<Buffer | undefined>;
}

export interface PreviewsOptions {
  readonly storage: Pick<MediaStorage, "size" | "read">;
  /** Limits the decoded pictures in memory. */
  readonly gate: FairGate;
  /** Limits the posters in work: each has the first picture of a video in memory, and perhaps a process. */
  readonly posters: FairGate;
  /** Decodes videos that sharp cannot. */
  readonly ffmpeg: string | undefined;
  readonly log: Logger;
  readonly metrics: Registry;
}

export function createPreviews({ storage, gate, posters, ffmpeg, log, metrics }: PreviewsOptions): Previews {
  const counter = new Counter({
    name: "media_previews_total",
    help: "Thumbnails and posters, by kind and result",
    labelNames: ["kind", "result"],
    registers: [metrics],
  });
  const attempt = async (kind: string, draft: () => Promise<Buffer | undefined>) => {
    try {
      const preview = await draft();
      counter.inc({ kind, result: preview === undefined ? "no_decoder" : "made" });
      return preview;
    } catch (error) {
      counter.inc({ kind, result: "failed" });
      log.warn({ kind, err: error }, "a thumbnail or a poster could not be created");
      return undefined;
    }
  };
  const draw = (picture: Buffer, side: number, owner: string) =>
    gate.run({ owner, cost: pixelsToDecode(picture) }, () => shrink(picture, side));
  const drawFirst = async (name: string, owner: string) => {
    const first = await readFirstPicture(storage, name);
    const still =
      first.still ?? (ffmpeg && (await decodeWithFfmpeg(ffmpeg, await first.film(), MAX_SECONDS * 1_000)));
    return still ? draw(still, POSTER, owner) : undefined;
  };
  return {
    thumbnailOf: (picture, owner) => attempt("thumbnail", () => draw(picture, THUMBNAIL, owner)),
    posterOf: (name, owner) => attempt("poster", () => posters.run({ owner }, () => drawFirst(name, owner))),
  };
}

async function shrink(bytes: Buffer, side: number): Promise<Buffer> {
  // sharp loads slower than a service starts, and most services never draw.
  const { default: sharp } = await import("sharp");
  const picture: Sharp = sharp(bytes, { limitInputPixels: MAX_PIXELS, pages: 1 })
    .timeout({ seconds: MAX_SECONDS })
    .resize(side, side, { fit: "inside", withoutEnlargement: true });
  return picture.webp({ quality: QUALITY }).toBuffer();
}
