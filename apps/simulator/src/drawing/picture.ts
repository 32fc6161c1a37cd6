// Draws the pictures of the image models: a gradient of the picture's own colours
// with the prompt written on it. Two pictures are equal only if prompt, index and seed are.
import { createHash } from "node:crypto";
import type { Sharp } from "sharp";
import { Refusal } from "../request/refusal.ts";
import { GRID } from "./glyphs.ts";
import { type Lettering, setText } from "./lettering.ts";

export type PictureFormat = "png" | "jpeg" | "webp";

export interface PictureOrder {
  readonly prompt: string;
  /** The small line at the foot: model, size. */
  readonly caption: string;
  /** Decides the colours, together with the prompt and the index. */
  readonly seed: string;
  readonly index: number;
  readonly width: number;
  readonly height: number;
  readonly format: PictureFormat;
  /** 0 to 100, for jpeg and webp. */
  readonly compression: number;
  /** All pixels outside the text's card are transparent; only png and webp can have this. */
  readonly transparent: boolean;
  /** Input pictures, shown along its upper edge. */
  readonly thumbnails?: readonly Buffer[] | undefined;
  /** A few large letters at the foot, above the caption. */
  readonly badge?: string | undefined;
}

const IN_A_ROW = 9;

/** Renders one picture to the bytes of an image file of exactly the ordered size and format. */
export async function drawPicture(order: PictureOrder): Promise<Buffer> {
  const image = await renderPicture(composePicture(order), order);
  if (order.format === "png") return await image.png({ compressionLevel: 6 }).toBuffer();
  if (order.format === "webp") return await image.webp({ quality: quality(order), effort: 2 }).toBuffer();
  return await image
    .flatten({ background: "#000" })
    .jpeg({ quality: quality(order) })
    .toBuffer();
}

/** The markup as pixels, with the thumbnails over it. */
export async function renderPicture(
  markup: string,
  order: Pick<PictureOrder, "width" | "height" | "thumbnails">,
): Promise<Sharp> {
  // Most routers with a simulator never draw; sharp and libvips are 10 MB.
  const { default: sharp } = await import("sharp");
  const drawn = sharp(Buffer.from(markup));
  const cell = cellOf(order);
  const shown = (order.thumbnails ?? []).map((input, index) => ({
    input,
    left: Math.round(cell * (0.25 + 1.1 * (index % IN_A_ROW))),
    top: Math.round(cell * (0.25 + 1.1 * Math.floor(index / IN_A_ROW))),
  }));
  return shown.length === 0 ? drawn : drawn.composite(shown);
}

/** Draws small squares of pictures, for a picture of this size. Throws a `Refusal` for bytes that are no picture. */
export async function drawThumbnails(
  pictures: readonly Buffer[],
  size: Pick<PictureOrder, "width" | "height">,
): Promise<Buffer[]> {
  if (pictures.length === 0) return [];
  const { default: sharp } = await import("sharp");
  const cell = Math.max(1, Math.floor(cellOf(size)));
  const thumbnails: Buffer[] = [];
  for (const bytes of pictures) {
    const small = sharp(bytes).resize(cell, cell).png().toBuffer();
    thumbnails.push(
      await small.catch(() => {
        throw new Refusal("invalid", "Invalid image file or mode for an image of the request.", "image");
      }),
    );
  }
  return thumbnails;
}

/** Two rows of them fit above the text. */
function cellOf({ width, height }: Pick<PictureOrder, "width" | "height">): number {
  return Math.min(width, height) / 10.4;
}

/** The encoders start at quality 1. */
function quality(order: PictureOrder): number {
  return Math.max(1, order.compression);
}

/** Returns the picture as SVG markup. Exported for the tests of its contents. */
export function composePicture(order: PictureOrder): string {
  const { width, height } = order;
  const dice = createHash("sha256").update(`${order.seed}\n${order.index}\n${order.prompt}`).digest();
  const roll = (at: number) => (dice[at] ?? 0) / 256;
  const side = Math.min(width, height);
  const hue = Math.floor(roll(0) * 360);
  const second = (hue + 40 + Math.floor(roll(1) * 80)) % 360;
  const turn = Math.floor(roll(2) * 360);
  const inset = order.transparent ? side * 0.05 : 0;
  const text = setText(
    order.prompt,
    width * 0.8 - inset * 2,
    height * 0.72 - inset * 2,
    side / 120,
    side / 700,
  );
  const caption = setText(order.caption, width * 0.8, side * 0.05, side / 560, side / 900);
  const top = (height - text.height) / 2 - side * 0.015;
  const bubbles = [3, 6, 9, 12, 15].map((at) => {
    const radius = side * (0.08 + roll(at) * 0.28);
    return `<circle cx="${Math.round(roll(at + 1) * width)}" cy="${Math.round(roll(at + 2) * height)}" r="${Math.round(radius)}"/>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<defs><linearGradient id="sky" gradientTransform="rotate(${turn} .5 .5)">`,
    `<stop offset="0" stop-color="hsl(${hue},62%,34%)"/><stop offset="1" stop-color="hsl(${second},68%,46%)"/>`,
    `</linearGradient><clipPath id="card">${card(order, inset)}</clipPath></defs>`,
    `<g clip-path="url(#card)"><rect width="${width}" height="${height}" fill="url(#sky)"/>`,
    `<g fill="#fff" fill-opacity=".07">${bubbles.join("")}</g></g>`,
    `<g fill="none" stroke-linecap="round" stroke-linejoin="round">`,
    drawText(text, width / 2, top, 1),
    drawText(caption, width / 2, height - inset - side * 0.06, 0.8),
    ...drawBadge(order, side),
    "</g></svg>",
  ].join("");
}

function card(order: PictureOrder, inset: number): string {
  const radius = inset * 1.2;
  return `<rect x="${inset}" y="${inset}" width="${order.width - inset * 2}" height="${order.height - inset * 2}" rx="${radius}"/>`;
}

function drawBadge({ badge, width, height }: PictureOrder, side: number): string[] {
  if (badge === undefined) return [];
  const text = setText(badge, width * 0.4, side * 0.1, side / 200, side / 700);
  return [drawText(text, width / 2, height - side * 0.18, 1)];
}

/** The text twice: a wide dark stroke under a white one, readable on any colour. */
function drawText(text: Lettering, x: number, y: number, opacity: number): string {
  const place = `transform="translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${text.scale.toFixed(4)})"`;
  return [
    `<g ${place} stroke="#000" stroke-opacity="${0.28 * opacity}" stroke-width="${GRID.stroke + 2.2}">${text.path}</g>`,
    `<g ${place} stroke="#fff" stroke-opacity="${opacity}" stroke-width="${GRID.stroke}">${text.path}</g>`,
  ].join("");
}
