// The port that every provider of images and videos implements. A job is submitted once and then polled until its
// artifacts are there; a provider that answers at once has nothing to poll. Adapters know wire formats, nothing else:
// no prices, no holds, no storage, no retries, no fan-out.
import type { JsonObject } from "@bufbuild/protobuf";
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import { ProviderError } from "./provider-error.ts";

/** What an adapter must be able to remember across a restart, and nothing secret. */
export type Operation = Readonly<Record<string, string | number | boolean | null>>;

/** A picture that came with a request, checked by us. */
export interface InputPicture {
  readonly role: "image" | "mask";
  readonly bytes: Buffer;
  readonly type: "image/png" | "image/jpeg" | "image/webp";
  /** Account for which the decoder counts further work. */
  readonly owner?: string;
}

interface JobFields {
  /** Our id of the request, sent along so that either side can find it in its logs. */
  readonly requestId: string;
  /** From 1. A request for more than the provider makes at once is several jobs under one request id. */
  readonly part: number;
  /** The model's name at the provider. */
  readonly model: string;
  readonly prompt: string;
  /** How many to make: 1 to the maker's `mostAtOnce`. */
  readonly count: number;
  /** The other parameters as the provider calls them, by the catalogue's route: size, quality, seconds. */
  readonly fields: JsonObject;
  readonly inputs: readonly InputPicture[];
}

export interface ImageJob extends JobFields {
  readonly kind: "image";
}

export interface VideoJob extends JobFields {
  readonly kind: "video";
}

/** A request asks for this many at most, so it is never more jobs than that. */
export const MOST_PARTS = 10;

export type MediaJob = ImageJob | VideoJob;
export type JobKind = MediaJob["kind"];

/** Something made, as the provider made it: nobody has looked inside yet. `type` is what the provider says it is. */
export type Artifact =
  /** Of a provider that gives it to us alone. It can be read again from its start when reading it has failed. */
  | { readonly stream: Iterable<Uint8Array> | AsyncIterable<Uint8Array>; readonly type: string }
  /** Anybody may fetch it from there, without a secret. */
  | { readonly url: string; readonly type: string };

/** What the provider says it used or billed. Absent parts were not reported. */
export interface ReportedUsage {
  readonly tokens?: TokenMeters;
  readonly billed?: PicoUsd;
  /** Of a job that failed: how many pictures or videos it made all the same. Absent when that is not known. */
  readonly made?: number;
}

export type Progress =
  | {
      readonly state: "pending";
      readonly operation: Operation;
      readonly pollAfterMs: number;
      /** Whole percent, where the provider says. */
      readonly percent?: number | undefined;
    }
  | {
      readonly state: "succeeded";
      /** At least one, and at most as many as the job asked for. */
      readonly artifacts: readonly Artifact[];
      readonly usage?: ReportedUsage;
    };

/** Properties and not methods, so that an adapter for one kind of job cannot be taken for one of another. */
export interface Maker<Job extends MediaJob> {
  /** The largest `count` of one job. */
  readonly mostAtOnce: number;
  /** Starts a job. Called at most once for each: it may be billed from here on. */
  readonly submit: (job: Job, signal: AbortSignal) => Promise<Progress>;
}

/**
 * All functions but `cancel` reject with ProviderError and with nothing else; its kind says whether the job failed,
 * was blocked, or may still be running. All of them end soon after the signal is aborted.
 */
export interface MediaProvider {
  /** As the catalogue's routes name it. */
  readonly name: string;
  /** What it makes, and how it is asked. */
  readonly makes: { readonly [Kind in JobKind]?: Maker<Extract<MediaJob, { kind: Kind }>> };
  /** Asks how a job is doing; may be called again after a restart, by another process. */
  readonly poll: (operation: Operation, signal: AbortSignal) => Promise<Progress>;
  /** Asks the provider to give a job up. No promise that it will; never rejects for a job that has ended. */
  readonly cancel: (operation: Operation, signal: AbortSignal) => Promise<void>;
  /**
   * What the provider billed for a request of ours, undefined when it knows of no bill (yet). Absent for providers
   * that cannot be asked.
   */
  readonly lookUp?: (requestId: string, signal: AbortSignal) => Promise<PicoUsd | undefined>;
}

/** @throws ProviderError also when the provider makes nothing of this kind */
export async function submitJob(
  provider: MediaProvider,
  job: MediaJob,
  signal: AbortSignal,
): Promise<Progress> {
  const { image, video } = provider.makes;
  if (job.kind === "image" && image !== undefined) return image.submit(job, signal);
  if (job.kind === "video" && video !== undefined) return video.submit(job, signal);
  const message = `${provider.name} makes no ${job.kind}`;
  throw new ProviderError("misconfigured", message, { accepted: false });
}
