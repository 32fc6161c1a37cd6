// CleanPicture sanitizes a client's picture for providers. The picture must have an allowed header and decode to its
// end, and all its other data is removed. Pixels stay bit-identical where possible. A rotated picture, or one with its
// own colour profile, is drawn again.
import type { FairGate, FairWork } from "@gr/runtime";
import type { Sharp } from "sharp";
import type { InputPicture } from "../providers/provider.ts";
import { MAX_PIXELS, type PictureFormat } from "../storage/picture-format.ts";
import { type PictureHeader, pictureHeaderOf, UnusablePictureError } from "./picture-header.ts";
import { stripMetadata } from "./strip-metadata.ts";

const MAX_SECONDS = 15;
/** Quality of JPEG and WebP pictures that are drawn again; the loss is invisible. */
const QUALITY = 95;
/** Largest side of the decoded picture during the check, so that the whole is never in memory. */
const PROBE_PIXELS = 16;

export interface CleanPicture extends InputPicture {
  /** Upright size, after the rotation. */
  readonly width: number;
  readonly height: number;
}

/** @throws UnusablePictureError; the signal's reason when it aborts before the picture is decoded */
export type CleanInput = (
  bytes: Buffer,
  role: InputPicture["role"],
  share: Pick<FairWork, "owner" | "signal">,
) => Promise<CleanPicture>;

/** @param gate shares the decoder by pixels; the work itself is off the event loop. */
export function createPictureCleaner(gate: FairGate): CleanInput {
  return async (bytes, role, { owner, signal }) => {
    const header = pictureHeaderOf(bytes);
    const cost = header.width * header.height;
    const picture = await gate.run({ owner, cost, signal }, () =>
      clean(bytes, role, header, { owner, signal }),
    );
    return { ...picture, owner };
  };
}

/** @throws UnusablePictureError */
async function clean(
  bytes: Buffer,
  role: InputPicture["role"],
  { format, ...announced }: PictureHeader,
  work: Pick<FairWork, "owner" | "signal">,
): Promise<CleanPicture> {
  // sharp loads slower than a service starts, and most services never draw.
  const { default: sharp } = await import("sharp");
  const open = (picture: Buffer, limit: number | false = MAX_PIXELS): Sharp =>
    sharp(picture, { limitInputPixels: limit, failOn: "error", pages: 1 });
  const header = await decoding(open(bytes, false).metadata());
  const { width, height, orientation = 1, pages = 1, icc, space } = header;
  const isAsAnnounced = width === announced.width && height === announced.height;
  // The request was priced by the size in the header.
  if (header.format !== format || !isAsAnnounced) throw new UnusablePictureError("the picture is damaged");
  work.signal?.throwIfAborted();
  const kept: PictureFormat = role === "mask" ? "png" : format;
  const asItIs = orientation === 1 && pages === 1 && icc === undefined && space !== "cmyk" && kept === format;
  if (asItIs) {
    const stripped = await stripMetadata(bytes, format, work);
    if (stripped === undefined) throw new UnusablePictureError("the picture is cut short or damaged");
    const probe = open(stripped).timeout({ seconds: MAX_SECONDS });
    await decoding(probe.resize(PROBE_PIXELS, PROBE_PIXELS, { fit: "fill" }).raw().toBuffer());
    return { role, bytes: stripped, type: `image/${kept}`, width, height };
  }
  const upright = open(bytes).timeout({ seconds: MAX_SECONDS }).autoOrient();
  const drawn = await decoding(encoded(upright, kept).toBuffer({ resolveWithObject: true }));
  const { data, info } = drawn;
  return { role, bytes: data, type: `image/${kept}`, width: info.width, height: info.height };
}

function encoded(picture: Sharp, format: PictureFormat): Sharp {
  if (format === "png") return picture.png();
  if (format === "webp") return picture.webp({ quality: QUALITY });
  return picture.jpeg({ quality: QUALITY, chromaSubsampling: "4:4:4" });
}

async function decoding<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const why =
      cause instanceof Error && /timeout/i.test(cause.message)
        ? "needs too long to decode"
        : "does not decode";
    throw new UnusablePictureError(`the picture ${why}`, { cause });
  }
}
