// FetchInputs reads the bytes of a request's pictures: files unchanged, data URIs decoded, our own media from the
// storage, URLs from the public internet. Each account has a share of the downloads, and no picture is decoded here.
import { ServiceError } from "@gr/proto";
import type { Allowance, FairGate } from "@gr/runtime";
import { mediaUrl } from "../answer/media-answer.ts";
import { isTimeout } from "../generation/time-limit.ts";
import { type Outbound, OutboundError } from "../providers/outbound.ts";
import { collect } from "../storage/collect.ts";
import { contentTypeOf } from "../storage/media-name.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { bytesOfDataUri, type InputSource, MAX_PICTURE_BYTES, tooLarge } from "./input-sources.ts";
import { type PictureHeader, readPictureHeader } from "./picture-header.ts";

export interface FetchInputsDeps {
  /** An outbound without trusted addresses: clients name these. */
  readonly outbound: Pick<Outbound, "checkAddress" | "download" | "stream">;
  readonly downloads: FairGate;
  readonly storage: Pick<MediaStorage, "size" | "read">;
  readonly publicBaseUrl: string;
}

/** Owner and limits of the pictures to fetch and decode. */
export interface InputShare {
  /** Account for the share of downloads and of the decoder. */
  readonly owner: string;
  /** Allowance for the pictures' bytes. */
  readonly allowance: Allowance;
  /** Aborts waiting and running work when the pictures are no longer needed. */
  readonly signal: AbortSignal;
}

export type UrlSource = Extract<InputSource, { readonly kind: "url" }>;

export class InputFetcher {
  readonly #deps: FetchInputsDeps;

  constructor(deps: FetchInputsDeps) {
    this.#deps = deps;
  }

  /** Refuses a forbidden URL by its text, without DNS. @throws ServiceError that names the picture */
  check(source: UrlSource): void {
    if (this.#hostedName(source) !== undefined) return;
    try {
      this.#deps.outbound.checkAddress(source.url);
    } catch (error) {
      throw notFetched(source, error);
    }
  }

  /** @throws ServiceError that names the picture */
  async bytesOf(source: InputSource, share: InputShare): Promise<Buffer> {
    if (source.kind === "file") return source.file.release();
    if (source.kind === "data") {
      const bytes = await bytesOfDataUri(source, source.base64, share);
      share.allowance.reserve(bytes.length);
      return bytes;
    }
    const hosted = this.#hostedName(source);
    return hosted === undefined
      ? this.#downloading(source, share, (wanted) => this.#deps.outbound.download(wanted))
      : this.#ownMedia(source, hosted, share);
  }

  /** Reads no more than the header needs. @throws ServiceError that names the picture, UnusablePictureError */
  async headerOf(source: UrlSource, share: InputShare): Promise<PictureHeader> {
    const hosted = this.#hostedName(source);
    if (hosted === undefined) {
      return this.#downloading(source, share, (wanted) =>
        readPictureHeader(this.#deps.outbound.stream(wanted)),
      );
    }
    await this.#ownSize(source, hosted);
    return readPictureHeader(this.#deps.storage.read(hosted));
  }

  /** Returns the name of a file that we host ourselves: the output of a request is often the input of the next. */
  #hostedName({ url }: UrlSource): string | undefined {
    const folder = mediaUrl(this.#deps.publicBaseUrl, "");
    const name = url.startsWith(folder) ? url.slice(folder.length) : "";
    return contentTypeOf(name) === undefined ? undefined : name;
  }

  async #ownMedia(source: UrlSource, name: string, { allowance }: InputShare): Promise<Buffer> {
    allowance.reserve(await this.#ownSize(source, name));
    return collect(this.#deps.storage.read(name));
  }

  async #ownSize(source: UrlSource, name: string): Promise<number> {
    const size = await this.#deps.storage.size(name);
    if (size === undefined)
      throw unusable(source, "image_download_failed", "the file does not exist on this router");
    if (size > MAX_PICTURE_BYTES) throw tooLarge(source.role, source.label);
    return size;
  }

  async #downloading<T>(
    source: UrlSource,
    { owner, allowance, signal }: InputShare,
    work: (wanted: Parameters<Outbound["download"]>[0]) => Promise<T>,
  ): Promise<T> {
    let refusal: unknown;
    const arrived = (bytes: number) => {
      try {
        allowance.reserve(bytes);
      } catch (error) {
        refusal = error;
        throw error;
      }
    };
    const wanted = { url: source.url, maxBytes: MAX_PICTURE_BYTES, signal, arrived };
    try {
      return await this.#deps.downloads.run({ owner, signal }, () => work(wanted));
    } catch (error) {
      if (refusal !== undefined) throw refusal;
      const waitedTooLong = isTimeout(signal) && error === signal.reason;
      throw waitedTooLong
        ? notFetched(source, new OutboundError("timeout", TOO_LATE))
        : notFetched(source, error);
    }
  }
}

const TOO_LATE = "no complete answer in time";

/** An error of another kind stays unchanged. */
function notFetched(source: InputSource, error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error;
  const why = error.kind === "refused" ? "url_not_allowed" : "image_download_failed";
  return unusable(source, why, `cannot be fetched: ${error.message}`, error);
}

export function unusable(
  { role, label }: InputSource,
  reason: "invalid_image" | "image_download_failed" | "url_not_allowed",
  why: string,
  cause?: unknown,
): ServiceError {
  return new ServiceError(reason, `${label}: ${why}.`, { param: role, cause });
}
