// MediaProvider is the port that every provider of images and videos implements. A job is submitted once and then
// polled until its artifacts are ready. A provider with immediate answers is never polled. Adapters own wire formats
// only: no prices, no holds, no storage, no retries, no fan-out.
import type { JsonObject } from "@bufbuild/protobuf";
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import { ProviderError } from "./provider-error.ts";

/** State that an adapter needs after a restart to poll a job. It contains no secret. */
export type Operation = Readonly<Record<string, string | number | boolean | null>>;

/** Picture from the client's request. Our input checks have accepted it. */
export interface InputPicture {
  readonly role: "image" | "mask";
  readonly bytes: Buffer;
  readonly type: "image/png" | "image/jpeg" | "image/webp";
  /** Account for which the decoder counts further work. */
  readonly owner?: string;
}

interface JobFields {
  /** Our id of the request. It is sent to the provider, so that both sides find the request in their logs. */
  readonly requestId: string;
  /**
   * Number of the job within its request, from 1. A request above the provider's limit becomes
   * several jobs with one request id.
   */
  readonly part: number;
  /** The model's name at the provider. */
  readonly model: string;
  readonly prompt: string;
  /** Number of pictures or videos: 1 to `mostAtOnce` of the maker. */
  readonly count: number;
  /** Other parameters under the provider's names, set by the catalogue's route: size, quality, seconds. */
  readonly fields: JsonObject;
  readonly inputs: readonly InputPicture[];
}

export interface ImageJob extends JobFields {
  readonly kind: "image";
  /** Present if the client wants partial images and the provider sends them. The job is then for one picture. */
  readonly partials?: PartialImages | undefined;
}

/** Partial images of a running job. */
export interface PartialImages {
  /** Number of partial images: 1 to 3. The provider may send fewer. */
  readonly most: number;
  /** Resolves when the next part of the answer may be read. Never rejects. @param index from 0 */
  readonly arrived: (index: number, picture: Artifact) => Promise<void>;
}

export interface VideoJob extends JobFields {
  readonly kind: "video";
}

/** Largest number of pictures of one request, and therefore of its jobs. */
export const MOST_PARTS = 10;

export type MediaJob = ImageJob | VideoJob;
export type JobKind = MediaJob["kind"];

/** Output of the provider, not yet decoded or checked. `type` is the media type that the provider declares. */
export type Artifact =
  /** Bytes that only our credentials open. After a failed read, the stream restarts at its first byte. */
  | { readonly stream: Iterable<Uint8Array> | AsyncIterable<Uint8Array>; readonly type: string }
  /** Public address, which opens without a secret. */
  | { readonly url: string; readonly type: string };

/** Usage and bill as the provider reports them. A missing field was not reported. */
export interface ReportedUsage {
  readonly tokens?: TokenMeters;
  readonly billed?: PicoUsd;
  /**
   * Number of pictures or videos that a failed job produced all the same. Undefined if
   * the provider does not report it.
   */
  readonly delivered?: number;
}

export type Progress =
  | {
      readonly state: "pending";
      readonly operation: Operation;
      readonly pollAfterMs: number;
      /** Whole percent, if the provider reports it. */
      readonly percent?: number | undefined;
    }
  | {
      readonly state: "succeeded";
      /** Output files: at least one, and at most the job's `count`. */
      readonly artifacts: readonly Artifact[];
      readonly usage?: ReportedUsage;
    };

/** Properties instead of methods: the compiler then refuses an adapter for the wrong kind of job. */
export interface KindSupport<Job extends MediaJob> {
  /** The largest `count` of one job. */
  readonly mostAtOnce: number;
  /** True if the provider sends the partial images that a job asks for. */
  readonly sendsPartials?: true;
  /** Starts a job. Called at most once per job: from here on the provider may bill it. */
  readonly submit: (job: Job, signal: AbortSignal) => Promise<Progress>;
}

/**
 * All functions but `cancel` reject with ProviderError only. Its kind shows whether the job failed, was blocked, or
 * may still run. Each function ends soon after the signal is aborted.
 */
export interface MediaProvider {
  /** Name in the catalogue's routes. */
  readonly name: string;
  /** Kinds of media that the provider generates, each with its submit function. */
  readonly kinds: { readonly [Kind in JobKind]?: KindSupport<Extract<MediaJob, { kind: Kind }>> };
  /** Returns the state of a job. After a restart, another process may poll the same job. */
  readonly poll: (operation: Operation, signal: AbortSignal) => Promise<Progress>;
  /**
   * Requests the cancellation of a job, without a guarantee: a later poll of a cancelled job fails. Never rejects for a
   * job that has ended.
   */
  readonly cancel: (operation: Operation, signal: AbortSignal) => Promise<void>;
  /**
   * Returns the bill for one of our requests, undefined while the provider has none.
   * Absent for providers without such a query.
   */
  readonly lookUp?: (requestId: string, signal: AbortSignal) => Promise<PicoUsd | undefined>;
}

/** @throws ProviderError also if the provider has no maker for this kind */
export async function submitJob(
  provider: MediaProvider,
  job: MediaJob,
  signal: AbortSignal,
): Promise<Progress> {
  const { image, video } = provider.kinds;
  if (job.kind === "image" && image !== undefined) return image.submit(job, signal);
  if (job.kind === "video" && video !== undefined) return video.submit(job, signal);
  const message = `${provider.name} makes no ${job.kind}`;
  throw new ProviderError("misconfigured", message, { accepted: false });
}
