// Brings the pictures of a request here and makes them safe to hand on: files as they came, data URIs decoded, URLs
// fetched. Whatever is wrong with one is said of it by name, before anything is held or sent.
import { buffer } from "node:stream/consumers";
import { ServiceError } from "@gr/proto";
import type { Allowance, Timer } from "@gr/runtime";
import { mediaUrl } from "../answer/media-answer.ts";
import { withinTime } from "../generation/time-limit.ts";
import { type Outbound, OutboundError } from "../providers/outbound.ts";
import type { Gate } from "../storage/gate.ts";
import { contentTypeOf } from "../storage/media-name.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { type CleanInput, type CleanPicture, UnusablePictureError } from "./clean-picture.ts";
import { bytesOfDataUri, type InputSource, MAX_PICTURE_BYTES, tooLarge } from "./input-sources.ts";

/** Of all downloads of one request together. */
const MAX_FETCH_MS = 15_000;

export interface BringInputsDeps {
  /** One that trusts no address: callers name these. */
  readonly outbound: Pick<Outbound, "download">;
  /** Bounds how many downloads run at a time. */
  readonly downloads: Gate;
  readonly clean: CleanInput;
  readonly storage: Pick<MediaStorage, "size" | "read">;
  readonly publicBaseUrl: string;
  readonly clock: Timer;
}

/** @throws ServiceError that names the picture at fault */
export type BringInputs = (
  sources: readonly InputSource[],
  allowance: Allowance,
) => Promise<readonly CleanPicture[]>;

export function createInputBringer(deps: BringInputsDeps): BringInputs {
  return async (sources, allowance) => {
    if (sources.length === 0) return [];
    const failed = new AbortController();
    const bring = (signal: AbortSignal) =>
      all(sources, failed, async (source) => {
        const bytes = await bytesOf(deps, source, allowance, signal);
        const sent = bytes.length;
        const picture = await cleaned(deps, source, bytes);
        // One that was drawn anew may have become longer.
        allowance.take(Math.max(0, picture.bytes.length - sent));
        return picture;
      });
    return withinTime(deps.clock, MAX_FETCH_MS, bring, failed.signal);
  };
}

async function cleaned(
  { clean }: BringInputsDeps,
  source: InputSource,
  bytes: Buffer,
): Promise<CleanPicture> {
  try {
    return await clean(bytes, source.role);
  } catch (cause) {
    if (!(cause instanceof UnusablePictureError)) throw cause;
    throw unusable(source, "invalid_image", cause.message, cause);
  }
}

/** The first failure ends the others; what they fail of then is of no interest. */
async function all<T>(
  sources: readonly InputSource[],
  failed: AbortController,
  work: (source: InputSource) => Promise<T>,
): Promise<T[]> {
  try {
    return await Promise.all(sources.map(work));
  } catch (error) {
    failed.abort();
    throw error;
  }
}

async function bytesOf(
  deps: BringInputsDeps,
  source: InputSource,
  allowance: Allowance,
  signal: AbortSignal,
): Promise<Buffer> {
  if (source.kind === "file") return source.file.take();
  if (source.kind === "data") {
    const bytes = bytesOfDataUri(source, source.base64);
    allowance.take(bytes.length);
    return bytes;
  }
  const hosted = hostedName(source.url, deps.publicBaseUrl);
  return hosted === undefined
    ? deps.downloads(() => download(deps, source, allowance, signal))
    : ownMedia(deps.storage, source, hosted, allowance);
}

/** The name of a file that we host ourselves: what one request has made is often what the next begins with. */
function hostedName(url: string, publicBaseUrl: string): string | undefined {
  const folder = mediaUrl(publicBaseUrl, "");
  const name = url.startsWith(folder) ? url.slice(folder.length) : "";
  return contentTypeOf(name) === undefined ? undefined : name;
}

async function ownMedia(
  storage: BringInputsDeps["storage"],
  source: InputSource,
  name: string,
  allowance: Allowance,
): Promise<Buffer> {
  const size = await storage.size(name);
  if (size === undefined) throw unusable(source, "image_download_failed", "there is no such file here");
  if (size > MAX_PICTURE_BYTES) throw tooLarge(source.role, source.label);
  allowance.take(size);
  return buffer(storage.read(name));
}

async function download(
  { outbound }: BringInputsDeps,
  source: InputSource & { readonly kind: "url" },
  allowance: Allowance,
  signal: AbortSignal,
): Promise<Buffer> {
  const { url } = source;
  let refusal: unknown;
  const arrived = (bytes: number) => {
    try {
      allowance.take(bytes);
    } catch (error) {
      refusal = error;
      throw error;
    }
  };
  try {
    return await outbound.download({ url, maxBytes: MAX_PICTURE_BYTES, signal, arrived });
  } catch (error) {
    if (refusal !== undefined) throw refusal;
    if (!(error instanceof OutboundError)) throw error;
    const why = error.kind === "refused" ? "url_not_allowed" : "image_download_failed";
    throw unusable(source, why, `cannot be fetched: ${error.message}`, error);
  }
}

function unusable(
  { role, label }: InputSource,
  reason: "invalid_image" | "image_download_failed" | "url_not_allowed",
  why: string,
  cause?: unknown,
): ServiceError {
  return new ServiceError(reason, `${label}: ${why}.`, { param: role, cause });
}
