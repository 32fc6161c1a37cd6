// Reads MP4 files, so that tests can check a video: its brand, its length, its size, and whether every picture of
// its index is at its place.

export interface Mp4Facts {
  readonly brand: string;
  readonly seconds: number;
  readonly width: number;
  readonly height: number;
  /** Codec of the first sample description: "av01". */
  readonly codec: string;
  /** The coded pictures, in order. */
  readonly samples: readonly Buffer[];
}

const BOXES = new Set(["moov", "trak", "mdia", "minf", "stbl"]);

/** Reads a file with one track in one chunk. @throws Error if a box is missing or reaches beyond the end */
export function readMp4(file: Buffer): Mp4Facts {
  const boxes = new Map<string, Buffer>();
  collect(file, boxes);
  const find = (type: string): Buffer => {
    const content = boxes.get(type);
    if (content === undefined) throw new Error(`the file has no ${type} box`);
    return content;
  };
  const movie = find("mvhd");
  const track = find("tkhd");
  const sizes = find("stsz");
  let at = find("stco").readUInt32BE(8);
  const samples = Array.from({ length: sizes.readUInt32BE(8) }, (_, index) => {
    const length = sizes.readUInt32BE(12 + index * 4);
    const sample = file.subarray(at, at + length);
    if (sample.length !== length) throw new Error(`sample ${index + 1} reaches beyond the end of the file`);
    at += length;
    return sample;
  });
  return {
    brand: find("ftyp").toString("latin1", 0, 4),
    seconds: movie.readUInt32BE(16) / movie.readUInt32BE(12),
    width: track.readUInt32BE(76) / 0x10000,
    height: track.readUInt32BE(80) / 0x10000,
    codec: find("stsd").toString("latin1", 12, 16),
    samples,
  };
}

function collect(bytes: Buffer, boxes: Map<string, Buffer>): void {
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (length < 8 || at + length > bytes.length) throw new Error(`the box ${type} reaches beyond the end`);
    const content = bytes.subarray(at + 8, at + length);
    boxes.set(type, content);
    if (BOXES.has(type)) collect(content, boxes);
    at += length;
  }
}
