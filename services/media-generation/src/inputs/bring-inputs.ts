// Brings the pictures of a request here in two steps. Before the money is looked at only headers are read; once it is held the
// pictures are fetched, decoded and made safe to hand on. Whatever is wrong with one is said of it by name.
import type { Timer } from "@gr/runtime";
import { withinTime } from "../generation/time-limit.ts";
import type { CleanInput, CleanPicture } from "./clean-picture.ts";
import { type FetchInputsDeps, InputFetcher, type InputShare, unusable } from "./fetch-inputs.ts";
import type { InputSource } from "./input-sources.ts";
import { pictureHeaderOf, UnusablePictureError } from "./picture-header.ts";

/** Of all downloads of one step of a request together. */
const MAX_FETCH_MS = 15_000;

export interface BringInputsDeps extends FetchInputsDeps {
  readonly clean: CleanInput;
  readonly clock: Timer;
}

/**
 * How images that are named by URL are looked at. Masks are not: no price goes by them.
 * - unread: nothing is fetched
 * - headers: fetched as far as their headers reach
 * - whole: fetched, and kept for the second step
 */
export type UrlReading = "unread" | "headers" | "whole";

/** A picture before it is decoded. */
export interface SeenPicture {
  readonly source: InputSource;
  /** Undefined when its bytes have still to be fetched. */
  readonly bytes: Buffer | undefined;
  /** By its header; undefined when that was not read. */
  readonly pixels: number | undefined;
}

export interface Inputs {
  /** The first step: costs no decoding. @throws ServiceError that names the picture at fault */
  look(sources: readonly InputSource[], urls: UrlReading, share: InputShare): Promise<readonly SeenPicture[]>;
  /** The second one, for which the money is held. @throws ServiceError that names the picture at fault */
  bring(seen: readonly SeenPicture[], share: InputShare): Promise<readonly CleanPicture[]>;
}

export function createInputs({ clean, clock, ...fetching }: BringInputsDeps): Inputs {
  const fetcher = new InputFetcher(fetching);

  async function lookAt(source: InputSource, urls: UrlReading, share: InputShare): Promise<SeenPicture> {
    if (source.kind === "url") {
      if (urls === "unread" || source.role === "mask") {
        fetcher.check(source);
        return { source, bytes: undefined, pixels: undefined };
      }
      if (urls === "headers") {
        const { width, height } = await fetcher.headerOf(source, share);
        return { source, bytes: undefined, pixels: width * height };
      }
    }
    const bytes = await fetcher.bytesOf(source, share);
    const { width, height } = pictureHeaderOf(bytes);
    return { source, bytes, pixels: width * height };
  }

  /** All begin at the same time, so the time of each is the time of all. */
  const inTime = <T>(share: InputShare, work: (share: InputShare) => Promise<T>) =>
    withinTime(clock, MAX_FETCH_MS, (signal) => work({ ...share, signal }), share.signal);

  async function bringOne({ source, bytes: known }: SeenPicture, share: InputShare): Promise<CleanPicture> {
    const { allowance } = share;
    const bytes = known ?? (await inTime(share, (timed) => fetcher.bytesOf(source, timed)));
    const sent = bytes.length;
    const picture = await clean(bytes, source.role, share);
    // One that was drawn anew may have become longer.
    allowance.take(Math.max(0, picture.bytes.length - sent));
    return picture;
  }

  return {
    look: (sources, urls, share) =>
      all(sources, share, (source, each) =>
        named(source, () => inTime(each, (timed) => lookAt(source, urls, timed))),
      ),
    bring: (seen, share) =>
      all(seen, share, (picture, each) => named(picture.source, () => bringOne(picture, each))),
  };
}

async function named<T>(source: InputSource, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof UnusablePictureError)) throw cause;
    throw unusable(source, "invalid_image", cause.message, cause);
  }
}

/** The first failure ends the others; what they fail of then is of no interest. */
async function all<From, To>(
  items: readonly From[],
  share: InputShare,
  work: (item: From, share: InputShare) => Promise<To>,
): Promise<To[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([share.signal, failed.signal]);
  signal.throwIfAborted();
  try {
    return await Promise.all(items.map((item) => work(item, { ...share, signal })));
  } catch (error) {
    failed.abort();
    throw error;
  }
}
