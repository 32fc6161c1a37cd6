// The message of one request in the log: a job of this service, or a text request as billing has it.
// Its URLs and its error are those of the first answer.
import { create } from "@bufbuild/protobuf";
import { GENERATION_KIND, GENERATION_STATUS } from "@gr/clients";
import { errorRow, isReason, type Reason } from "@gr/proto";
import { HoldState, type Text } from "@gr/proto/billing";
import {
  type Generation,
  GenerationAttemptSchema,
  GenerationSchema,
  GenerationStatus,
} from "@gr/proto/media";
import { mediaUrl } from "../answer/media-answer.ts";
import { filesOf, type LogEntry, previewOf } from "./log-entry.ts";

export function messageOf(entry: LogEntry, publicBaseUrl: string): Generation {
  const { request, error, finishedAt, charge } = entry;
  const { prompt, size, quality, seconds, audio, input_pixels: pixels = [] } = request;
  return create(GenerationSchema, {
    id: entry.id,
    keyId: entry.keyId,
    kind: GENERATION_KIND[entry.kind],
    model: entry.model,
    status: GENERATION_STATUS[entry.status],
    parameters: {
      // Half a character of UTF-16 has no place in a message.
      ...(prompt === undefined ? {} : { prompt: prompt.toWellFormed() }),
      count: request.n,
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
      ...(seconds === undefined ? {} : { seconds }),
      ...(audio === undefined ? {} : { audio }),
      inputImages: pixels.length,
      ...(request.partial_images === undefined ? {} : { partialImages: request.partial_images }),
      outputFormat: request.output_format,
      responseFormat: request.response_format,
    },
    ...(entry.progress === undefined ? {} : { progress: entry.progress }),
    urls: filesOf(entry).map((name) => mediaUrl(publicBaseUrl, name)),
    previewUrls: filesOf(entry).map((name) => {
      const preview = previewOf(entry, name);
      return preview === undefined ? "" : mediaUrl(publicBaseUrl, preview);
    }),
    ...(error === undefined ? {} : { error: errorMessage(error.reason, error.message) }),
    createdAt: BigInt(entry.createdAt),
    ...(finishedAt === undefined ? {} : { finishedAt: BigInt(finishedAt) }),
    ...(charge === undefined ? {} : { chargedCredits: charge }),
    priceVersion: entry.priceVersion,
    pricePicoUsd: entry.price,
    provider: entry.provider,
    attempts: entry.attempts.map(({ provider, upstreamModel, outcome, ...times }) => ({
      ...{ provider, upstreamModel, outcome },
      tookMs: BigInt(times.tookMs),
      beganMs: BigInt(times.beganMs),
      ...(times.madeMs === undefined ? {} : { madeMs: BigInt(times.madeMs) }),
    })),
    inputPixels: pixels.map((each) => BigInt(each)),
    deleted: entry.deleted,
    expired: entry.expired,
  });
}

const STATUS_OF_HOLD: Readonly<Partial<Record<HoldState, GenerationStatus>>> = {
  [HoldState.OPEN]: GenerationStatus.RUNNING,
  [HoldState.CAPTURED]: GenerationStatus.SUCCEEDED,
  [HoldState.RELEASED]: GenerationStatus.FAILED,
};

export function statusOfHold(state: HoldState): GenerationStatus {
  return STATUS_OF_HOLD[state] ?? GenerationStatus.UNSPECIFIED;
}

export function textMessage(text: Text): Generation {
  const { line, state, placedAt, chargedCredits } = text;
  const createdAt = line?.beganAt ?? placedAt;
  const { errorReason = "", errorMessage: message = "" } = line ?? {};
  return create(GenerationSchema, {
    id: text.requestId,
    keyId: text.spenderId,
    kind: GENERATION_KIND.text,
    model: text.model,
    status: statusOfHold(state),
    createdAt,
    ...(line === undefined ? {} : { finishedAt: createdAt + line.tookMs }),
    ...(state === HoldState.OPEN ? {} : { chargedCredits }),
    ...(isReason(errorReason) ? { error: errorMessage(errorReason, message) } : {}),
    priceVersion: text.priceVersion,
    provider: text.provider,
    attempts: (line?.attempts ?? []).map(({ provider, upstreamModel, outcome, tookMs }) => {
      return create(GenerationAttemptSchema, { provider, upstreamModel, outcome, tookMs });
    }),
    text,
  });
}

/** Returns the error as its client received it. */
export function errorMessage(reason: Reason, message: string) {
  const { type, code = "" } = errorRow(reason);
  return { message: message.toWellFormed(), type, code };
}
