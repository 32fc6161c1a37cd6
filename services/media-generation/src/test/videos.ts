// The smallest file that counts as an MP4 here: its first box, and a box with any bytes.

/** @param content of the second box */
export function mp4Of(content = "moving pictures"): Buffer {
  return Buffer.concat([box("ftyp", "isom\0\0\0\0isom"), box("mdat", content)]);
}

function box(type: string, content: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(8 + Buffer.byteLength(content));
  return Buffer.concat([length, Buffer.from(type + content)]);
}
