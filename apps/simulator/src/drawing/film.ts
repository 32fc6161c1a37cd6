// Film draws the videos of the video models: one picture a second, each with the prompt and the number of its second.
// The AVIF encoder of sharp creates the pictures, and an AVIF picture is a picture of an AV1 track.
import { writeMp4 } from "./mp4.ts";
import { composePicture, type PictureOrder, renderPicture } from "./picture.ts";

export interface FilmOrder extends Omit<PictureOrder, "format" | "compression" | "transparent" | "badge"> {
  readonly seconds: number;
}

const QUALITY = 50;
const TEMPORAL_DELIMITER = Buffer.from([0x12, 0x00]);
/** Boxes with inner boxes, and the number of bytes before the first of those. */
const CONTAINERS: ReadonlyMap<string, number> = new Map([
  ["meta", 4],
  ["iprp", 0],
  ["ipco", 0],
]);

/** Renders one video to the bytes of an MP4 file of exactly the ordered size and length. */
export async function drawFilm({ seconds, ...order }: FilmOrder, signal: AbortSignal): Promise<Buffer> {
  const { width, height } = order;
  const pictures: { data: Buffer; milliseconds: number }[] = [];
  let av1Config: Buffer | undefined;
  for (let second = 0; second < seconds; second++) {
    signal.throwIfAborted();
    const badge = `${clock(second)} / ${clock(Math.ceil(seconds))}`;
    const markup = composePicture({ ...order, badge, format: "png", compression: 100, transparent: false });
    const picture = await renderPicture(markup, order);
    // 4:2:0 and opaque: the profile that every player of AV1 has.
    const still = await picture
      .flatten({ background: "#000" })
      .avif({ quality: QUALITY, effort: 0, chromaSubsampling: "4:2:0" })
      .toBuffer();
    const { config, data } = readStill(still);
    av1Config ??= config;
    pictures.push({ data, milliseconds: Math.round(Math.min(1, seconds - second) * 1_000) });
  }
  if (av1Config === undefined) throw new Error(`a video of ${seconds} seconds has no picture`);
  return writeMp4({ width, height, av1Config, pictures });
}

/** Returns the parts for a track from an AVIF file with one picture. */
function readStill(file: Buffer): { config: Buffer; data: Buffer } {
  const config = findBox(file, "av1C");
  const data = findBox(file, "mdat");
  if (config === undefined || data === undefined)
    throw new Error("the encoder's AVIF file has another shape");
  // A track has no delimiters; the still picture begins with one.
  const delimited = data.subarray(0, 2).equals(TEMPORAL_DELIMITER);
  return { config, data: delimited ? data.subarray(2) : data };
}

/** Content of the first box of a type. */
function findBox(bytes: Buffer, wanted: string): Buffer | undefined {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    const content = bytes.subarray(at + 8, at + length);
    if (type === wanted) return content;
    const skip = CONTAINERS.get(type);
    const found = skip === undefined ? undefined : findBox(content.subarray(skip), wanted);
    if (found !== undefined) return found;
    if (length < 8) return undefined;
    at += length;
  }
  return undefined;
}

function clock(second: number): string {
  return `${Math.floor(second / 60)}:${String(second % 60).padStart(2, "0")}`;
}
