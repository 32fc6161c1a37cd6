// AvifStill wraps a key picture of an AV1 track into an AVIF file (ISO/IEC 23008-12, AV1-AVIF), which sharp can read.
// The bits stay the same in other boxes.

export interface Av1Picture {
  /** A temporal unit with its sequence header. */
  readonly data: Uint8Array;
  /** As in `av01.0.05M.08.0.110`; the fields after the bit depth are optional. */
  readonly codec: string;
  readonly width: number;
  readonly height: number;
}

const NAMES_ITS_OWN_PICTURE = 1;
const ESSENTIAL = 0x80;

export function avifOf(picture: Av1Picture): Buffer {
  const type = box("ftyp", text("avif"), u32(0), text("avifmif1miaf"));
  // The length of the index does not depend on the picture's position.
  const at = type.length + indexOf(picture, 0).length + 8;
  return Buffer.concat([type, indexOf(picture, at), box("mdat", picture.data)]);
}

function indexOf({ data, codec, width, height }: Av1Picture, at: number): Buffer {
  const { config, bits } = configOf(codec);
  const item = NAMES_ITS_OWN_PICTURE;
  const offsetsAndLengthsOf4 = Buffer.from([0x44, 0]);
  return fullBox(
    "meta",
    0,
    fullBox("hdlr", 0, u32(0), text("pict"), u32(0, 0, 0), text("\0")),
    fullBox("pitm", 0, u16(item)),
    fullBox("iloc", 0, offsetsAndLengthsOf4, u16(1, item, 0, 1), u32(at, data.byteLength)),
    fullBox("iinf", 0, u16(1), fullBox("infe", 2, u16(item, 0), text("av01\0"))),
    box(
      "iprp",
      box(
        "ipco",
        fullBox("ispe", 0, u32(width, height)),
        fullBox("pixi", 0, Buffer.from([3, bits, bits, bits])),
        box("av1C", config),
      ),
      fullBox("ipma", 0, u32(1), u16(item), Buffer.from([3, 1, 2, ESSENTIAL | 3])),
    ),
  );
}

/** @throws Error for a string that is no AV1 codec */
function configOf(codec: string): { config: Buffer; bits: number } {
  const match = /^av01\.([0-2])\.(\d\d)([MH])\.(08|10|12)(?:\.([01])\.([01])([01])([0-3]))?/.exec(codec);
  if (match === null) throw new Error(`"${codec}" is no codec string of AV1`);
  const [, profile, level, tier, depth, mono = "0", acrossHalf = "1", downHalf = "1", position = "0"] = match;
  const bits = Number(depth);
  const depthFlags = (bits > 8 ? 0x40 : 0) | (bits > 10 ? 0x20 : 0);
  const sampling =
    (Number(mono) << 4) | (Number(acrossHalf) << 3) | (Number(downHalf) << 2) | Number(position);
  const config = [
    0x81,
    (Number(profile) << 5) | Number(level),
    (tier === "H" ? 0x80 : 0) | depthFlags | sampling,
    0,
  ];
  return { config: Buffer.from(config), bits };
}

function box(type: string, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([u32(8 + content.length), text(type), content]);
}

const fullBox = (type: string, version: number, ...contents: readonly Uint8Array[]) =>
  box(type, Buffer.from([version, 0, 0, 0]), ...contents);

const text = (value: string) => Buffer.from(value, "latin1");

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
}
