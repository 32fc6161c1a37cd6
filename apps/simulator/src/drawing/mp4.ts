// Mp4 writes a file of one AV1 track with independent pictures: the boxes of ISO/IEC 14496-12 that a player needs.
// The index is first, so that the file plays while it loads.

export interface TrackPicture {
  /** A temporal unit without its delimiter. */
  readonly data: Buffer;
  readonly milliseconds: number;
}

export interface Track {
  readonly width: number;
  readonly height: number;
  /** Content of the `av1C` box. */
  readonly av1Config: Buffer;
  readonly pictures: readonly TrackPicture[];
}

const TIMESCALE = 1_000;
/** No rotation and no scaling, as a 3x3 matrix of fixed-point numbers. */
const UPRIGHT = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
const PIXELS_PER_INCH_72 = 0x480000;

export function writeMp4(track: Track): Buffer {
  const fileType = box("ftyp", text("isom"), u32(0x200), text("isomiso2av01mp41"));
  // The length of the index does not depend on the positions of the pictures.
  const { length } = movieBox(track, 0);
  const media = box("mdat", ...track.pictures.map(({ data }) => data));
  return Buffer.concat([fileType, movieBox(track, fileType.length + length + 8), media]);
}

function movieBox(track: Track, mediaAt: number): Buffer {
  const duration = track.pictures.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const header = [u32(0, 0, TIMESCALE, duration, 0x10000), u16(0x100, 0), u32(0, 0), UPRIGHT];
  const movie = fullBox("mvhd", 0, ...header, u32(0, 0, 0, 0, 0, 0, 2));
  return box("moov", movie, box("trak", trackHeader(track, duration), mediaBox(track, duration, mediaAt)));
}

function trackHeader({ width, height }: Track, duration: number): Buffer {
  const enabledInMovie = 3;
  const size = u32(width * 0x10000, height * 0x10000);
  return fullBox("tkhd", enabledInMovie, u32(0, 0, 1, 0, duration, 0, 0), u16(0, 0, 0, 0), UPRIGHT, size);
}

function mediaBox(track: Track, duration: number, mediaAt: number): Buffer {
  const undetermined = 0x55c4;
  const header = fullBox("mdhd", 0, u32(0, 0, TIMESCALE, duration), u16(undetermined, 0));
  const handler = fullBox("hdlr", 0, u32(0), text("vide"), u32(0, 0, 0), text("video\0"));
  const here = fullBox("url ", 1);
  const data = box("dinf", fullBox("dref", 0, u32(1), here));
  const info = box("minf", fullBox("vmhd", 1, u16(0, 0, 0, 0)), data, sampleTable(track, mediaAt));
  return box("mdia", header, handler, info);
}

/** Playback can start at every picture, so no list of such pictures is needed. */
function sampleTable({ width, height, av1Config, pictures }: Track, mediaAt: number): Buffer {
  const entry = box(
    "av01",
    u16(0, 0, 0, 1, 0, 0),
    u32(0, 0, 0),
    u16(width, height),
    u32(PIXELS_PER_INCH_72, PIXELS_PER_INCH_72, 0),
    u16(1),
    Buffer.alloc(32),
    u16(24, 0xffff),
    box("av1C", av1Config),
  );
  const times = pictures.map(({ milliseconds }) => u32(1, milliseconds));
  const sizes = pictures.map(({ data }) => u32(data.length));
  return box(
    "stbl",
    fullBox("stsd", 0, u32(1), entry),
    fullBox("stts", 0, u32(times.length), ...times),
    fullBox("stsc", 0, u32(1, 1, pictures.length, 1)),
    fullBox("stsz", 0, u32(0, sizes.length), ...sizes),
    fullBox("stco", 0, u32(1, mediaAt)),
  );
}

function box(type: string, ...content: readonly Buffer[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 8);
  return Buffer.concat([u32(length), text(type), ...content], length);
}

/** Returns a box with version 0. */
function fullBox(type: string, flags: number, ...content: readonly Buffer[]): Buffer {
  return box(type, u32(flags), ...content);
}

function text(value: string): Buffer {
  return Buffer.from(value, "latin1");
}

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
