// FirstPicture reads the first picture of a hosted video by byte ranges: the index, then that picture.
// The whole video is never read.
import { buffer } from "node:stream/consumers";
import {
  BufferTarget,
  CustomSource,
  EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  MP4,
  Mp4OutputFormat,
  Output,
  type VideoCodec,
} from "mediabunny";
import type { MediaStorage } from "../storage/media-storage.ts";
import { avifOf } from "./avif-still.ts";

/** Limit for the index of an hours-long video, or for an 8K picture. */
const MOST_BYTES_OF_A_READ = 32 * 1024 * 1024;

export interface FirstPicture {
  readonly codec: VideoCodec;
  /** File that sharp can read; undefined if sharp has no decoder for it. */
  readonly still: Buffer | undefined;
  /** Video with this picture only. */
  film(): Promise<Buffer>;
}

/** @throws Error if the video has no such picture */
export async function readFirstPicture(
  storage: Pick<MediaStorage, "size" | "read">,
  name: string,
): Promise<FirstPicture> {
  const input = new Input({ formats: [MP4], source: sourceOf(storage, name) });
  try {
    const track = await input.getPrimaryVideoTrack();
    const config = await track?.getDecoderConfig();
    const packet = track && (await new EncodedPacketSink(track).getFirstKeyPacket());
    if (track == null || track.codec === null || config == null || packet == null) {
      throw new Error("it has no video track of a supported kind");
    }
    const { codec, codedWidth: width, codedHeight: height } = track;
    const { data } = packet;
    const still = codec === "av1" ? avifOf({ data, codec: config.codec, width, height }) : undefined;
    return { codec, still, film: () => filmOf(codec, data, config) };
  } finally {
    input.dispose();
  }
}

async function filmOf(codec: VideoCodec, data: Uint8Array, config: VideoDecoderConfig): Promise<Buffer> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const source = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(source);
  await output.start();
  await source.add(new EncodedPacket(data, "key", 0, 1), { decoderConfig: config });
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

function sourceOf(storage: Pick<MediaStorage, "size" | "read">, name: string): CustomSource {
  return new CustomSource({
    getSize: async () => {
      const size = await storage.size(name);
      if (size === undefined) throw new Error("the file does not exist");
      return size;
    },
    read: async (start, end) => {
      if (end - start > MOST_BYTES_OF_A_READ) throw new Error(`it would need ${end - start} bytes at once`);
      return buffer(storage.read(name, { start, end: end - 1 }));
    },
  });
}
