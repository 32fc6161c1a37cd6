// Loads the pictures of a request in two steps. Before the hold, only headers are read. During the hold the pictures
// are fetched, decoded and sanitized for providers. Each error names the picture at fault.
import type { Timer } from "@gr/runtime";
import { withinTime } from "../generation/time-limit.ts";
import type { CleanInput, CleanPicture } from "./clean-picture.ts";
import { type FetchInputsDeps, InputFetcher, type InputShare, unusable } from "./fetch-inputs.ts";
import type { InputSource } from "./input-sources.ts";
import { pictureHeaderOf, UnusablePictureError } from "./picture-header.ts";

/** Time limit of all downloads of one step of a request together, in milliseconds. */
const MAX_FETCH_MS = 15_000;

export interface PrepareInputsDeps extends FetchInputsDeps {
  readonly clean: CleanInput;
  readonly clock: Timer;
}

/**
 * Reading of images that are named by URL, before the hold. Masks are not read: no price depends on them.
 * `unread`: nothing is fetched.
 * `headers`: each image is fetched up to the end of its header.
 * `whole`: each image is fetched, and kept for the second step.
 */
export type UrlReading = "unread" | "headers" | "whole";

/** A picture before it is decoded. */
export interface SeenPicture {
  readonly source: InputSource;
  /** Undefined if the bytes are still to be fetched. */
  readonly bytes: Buffer | undefined;
  /** Size by the picture's header; undefined for an unread header. */
  readonly pixels: number | undefined;
}

export interface Inputs {
  /** Runs the first step, without decoding. @throws ServiceError that names the picture at fault */
  look(sources: readonly InputSource[], urls: UrlReading, share: InputShare): Promise<readonly SeenPicture[]>;
  /** Runs the second step, during the hold. @throws ServiceError that names the picture at fault */
  prepare(seen: readonly SeenPicture[], share: InputShare): Promise<readonly CleanPicture[]>;
}

export function createInputs({ clean, clock, ...fetching }: PrepareInputsDeps): Inputs {
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

  /** All downloads start at the same time, so they share one time limit. */
  const inTime = <T>(share: InputShare, work: (share: InputShare) => Promise<T>) =>
    withinTime(clock, MAX_FETCH_MS, (signal) => work({ ...share, signal }), share.signal);

  async function prepareOne({ source, bytes: known }: SeenPicture, share: InputShare): Promise<CleanPicture> {
    const { allowance } = share;
    const bytes = known ?? (await inTime(share, (timed) => fetcher.bytesOf(source, timed)));
    const sent = bytes.length;
    const picture = await clean(bytes, source.role, share);
    // A picture that was drawn again may have grown.
    allowance.reserve(Math.max(0, picture.bytes.length - sent));
    return picture;
  }

  return {
    look: (sources, urls, share) =>
      all(sources, share, (source, each) =>
        named(source, () => inTime(each, (timed) => lookAt(source, urls, timed))),
      ),
    prepare: (seen, share) =>
      all(seen, share, (picture, each) => named(picture.source, () => prepareOne(picture, each))),
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

/** The first failure aborts the others, and their later failures are ignored. */
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
