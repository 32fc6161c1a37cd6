// PictureFacts are the vision model's view of an input picture: size, format and main colour. A picture at an address
// is not fetched: the simulator sends no requests.
import { Refusal } from "../request/refusal.ts";

/** Picture of the request. Undefined look: the picture is at an address. */
export interface Picture {
  readonly look: Look | undefined;
}

interface Look {
  readonly width: number;
  readonly height: number;
  /** `png`, `jpeg`, `webp`, `gif`. */
  readonly format: string;
  /** Name of the most frequent colour. */
  readonly color: string;
}

const DATA_URI = /^data:[a-z]+\/[a-z0-9.+-]+;base64,/i;
const GRID = 32;
const BAD_PICTURE =
  "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].";

/** @param addresses data URIs, or URLs of pictures. @throws Refusal for data that are no picture */
export async function lookAt(addresses: readonly string[]): Promise<Picture[]> {
  const pictures: Picture[] = [];
  for (const address of addresses) {
    const head = DATA_URI.exec(address)?.[0];
    if (head !== undefined)
      pictures.push({ look: await see(Buffer.from(address.slice(head.length), "base64")) });
    else if (/^https?:\/\//i.test(address)) pictures.push({ look: undefined });
    else throw badPicture();
  }
  return pictures;
}

/** Returns the answer's sentence about them. */
export function describePictures(pictures: readonly Picture[]): string {
  const count = pictures.length === 1 ? "1 image" : `${pictures.length} images`;
  const seen = pictures.map(({ look }) =>
    look === undefined
      ? "one at an address that I did not open"
      : `${look.width} × ${look.height} pixels, ${look.format.toUpperCase()}, mostly ${look.color}`,
  );
  return `I also received ${count}: ${seen.join("; ")}.`;
}

async function see(bytes: Buffer): Promise<Look> {
  // Most routers with a simulator never read a picture; sharp and libvips are 10 MB.
  const { default: sharp } = await import("sharp");
  try {
    const { width, height, format } = await sharp(bytes).metadata();
    const pixels = await sharp(bytes)
      .flatten({ background: "#fff" })
      .resize(GRID, GRID, { fit: "fill", kernel: "nearest" })
      .toColourspace("srgb")
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { width, height, format, color: mainColor(pixels.data, pixels.info.channels) };
  } catch {
    // After any error of the decoder, the bytes count as no picture.
    throw badPicture();
  }
}

function badPicture(): Refusal {
  return new Refusal("invalid", BAD_PICTURE, null, "invalid_image_format");
}

function mainColor(pixels: Buffer, channels: number): string {
  const counts = new Map<string, number>();
  for (let at = 0; at + channels <= pixels.length; at += channels) {
    const [red = 0, green = red, blue = red] = pixels.subarray(at, at + Math.min(channels, 3));
    const name = nameColor(red, green, blue);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].reduce((most, next) => (next[1] > most[1] ? next : most), ["white", 0])[0];
}

/** By hue, if it has any. */
function nameColor(red: number, green: number, blue: number): string {
  const most = Math.max(red, green, blue);
  const spread = most - Math.min(red, green, blue);
  if (most < 40) return "black";
  if (spread < most * 0.15) return most > 215 ? "white" : "grey";
  const hue = hueOf(red, green, blue, most, spread);
  if (hue < 15 || hue >= 345) return "red";
  if (hue < 45) return most < 150 ? "brown" : "orange";
  if (hue < 70) return "yellow";
  if (hue < 165) return "green";
  if (hue < 195) return "turquoise";
  if (hue < 255) return "blue";
  return hue < 290 ? "purple" : "pink";
}

/** Degrees on the colour wheel, from red over green to blue. */
function hueOf(red: number, green: number, blue: number, most: number, spread: number): number {
  if (most === red) return (((green - blue) / spread) * 60 + 360) % 360;
  return most === green ? ((blue - red) / spread) * 60 + 120 : ((red - green) / spread) * 60 + 240;
}
