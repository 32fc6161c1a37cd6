// PartialImages passes the partial images of a running job on to the client of a stream, in the client's format. They are
// paid for with the picture. A partial image that cannot be read or sent is left out, and changes nothing else.
import type { ReadArtifact } from "../providers/artifact.ts";
import type { MediaProvider, PartialImages } from "../providers/provider.ts";
import { collect } from "../storage/collect.ts";
import type { ConvertImage } from "../storage/image-file.ts";
import { VIDEO_FORMAT } from "../storage/media-name.ts";
import type { GenerationEvents } from "./events.ts";
import type { MediaOrder } from "./generation.ts";
import type { MemoryPlaces } from "./memory-places.ts";

/** Size limit of a picture from its provider, in bytes. */
export const MOST_PICTURE_BYTES = 64 * 1024 * 1024;

/** Client of a stream. */
export interface PartialSink {
  /** False after the client has disconnected. */
  wants(): boolean;
  /** @param index from 0. @param picture in the format of the order */
  send(order: MediaOrder, index: number, picture: Buffer): void;
}

interface PartialDeps {
  readonly read: ReadArtifact;
  readonly convert: ConvertImage;
  readonly memory: Pick<MemoryPlaces, "acquire">;
  readonly events: Pick<GenerationEvents, "partialNotSent">;
}

/** @returns undefined if the order has no partial images, or the provider sends none */
export function partialImagesOf(
  { read, convert, memory, events }: PartialDeps,
  order: MediaOrder,
  { kinds }: MediaProvider,
  sink: PartialSink | undefined,
  signal: AbortSignal,
): PartialImages | undefined {
  const { partial_images: most, output_format: format } = order.request;
  if (sink === undefined || most === undefined || kinds.image?.sendsPartials !== true) return undefined;
  if (format === VIDEO_FORMAT) return undefined;
  return {
    most,
    arrived: async (index, artifact) => {
      if (!sink.wants()) return;
      try {
        const bytes = await read(artifact, MOST_PICTURE_BYTES, signal, async (chunks) => {
          await memory.acquire(signal);
          return collect(chunks);
        });
        const picture = await convert(bytes, format, order.accountId);
        if (sink.wants()) sink.send(order, index, picture.bytes);
      } catch (error) {
        events.partialNotSent(order, error);
      }
    },
  };
}
