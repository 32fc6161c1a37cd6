// Conversion of the log's message into the record that the API, the console and the command line show.
// Each field of a record is read here, once.
import { create } from "@bufbuild/protobuf";
import { meterRatesOf, tokenPriceAt } from "@gr/models";
import { formatCredits, formatPicoUsd } from "@gr/money";
import { HoldState, type Text, TextApi, type TextUsage } from "@gr/proto/billing";
import type { CatalogOperatorService, Price, TokenPrice } from "@gr/proto/catalog";
import {
  type Generation,
  GenerationKind,
  GenerationParametersSchema,
  GenerationStatus,
} from "@gr/proto/media";
import type {
  GenerationRecord,
  RequestKind,
  RequestRecord,
  RequestState,
  TextRecord,
} from "@gr/request-record";
import type { ServiceClient } from "@gr/runtime";
import { priceOfGeneration, priceOfText } from "./price-of-request.ts";

/** Names of the kinds in the contract. */
export const GENERATION_KIND = {
  image: GenerationKind.IMAGE,
  video: GenerationKind.VIDEO,
  text: GenerationKind.TEXT,
} as const satisfies Record<RequestKind, GenerationKind>;

/** Names of the states in the contract. */
export const GENERATION_STATUS = {
  running: GenerationStatus.RUNNING,
  succeeded: GenerationStatus.SUCCEEDED,
  failed: GenerationStatus.FAILED,
  blocked: GenerationStatus.BLOCKED,
  cancelled: GenerationStatus.CANCELLED,
} as const satisfies Record<RequestState, GenerationStatus>;

const NO_PARAMETERS = create(GenerationParametersSchema, { count: 1 });

export type PriceVersions = Pick<ServiceClient<typeof CatalogOperatorService>, "getPriceVersion">;

/** Returns the record of an entry of a list. @throws Error for a kind or a state of a newer version */
export function requestRecord(generation: Generation): RequestRecord {
  const { text } = generation;
  return text === undefined ? mediaRecord(generation) : textRecord(generation, text);
}

/** Returns the record of one request with the calculation of its charge, as far as the price still exists. */
export async function explainedRecord(generation: Generation, prices: PriceVersions): Promise<RequestRecord> {
  const { text, status, priceVersion: version } = generation;
  if (status === GenerationStatus.RUNNING) return { ...requestRecord(generation), price: null };
  // The record is also correct without the price.
  const found = await prices.getPriceVersion({ version }).catch(() => undefined);
  const price = found?.price;
  if (text === undefined) return { ...mediaRecord(generation), price: priceOfGeneration(generation, price) };
  return {
    ...textRecord(generation, text),
    price: priceOfText(text, price),
    unit_prices: unitPricesOf(price, text),
  };
}

/** Returns the record of an image or a video. */
function mediaRecord(generation: Generation): GenerationRecord {
  const { prompt, size, quality, seconds, audio, partialImages, ...parameters } =
    generation.parameters ?? NO_PARAMETERS;
  const kind = nameOf(GENERATION_KIND, generation.kind) as GenerationRecord["kind"];
  const preview = kind === "video" ? "poster_url" : "thumbnail_url";
  return {
    ...sharedFields(generation),
    kind,
    request: {
      ...(prompt === undefined ? {} : { prompt }),
      n: parameters.count,
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
      ...(seconds === undefined ? {} : { seconds }),
      ...(audio === undefined ? {} : { audio }),
      ...(parameters.inputImages ? { input_images: parameters.inputImages } : {}),
      ...(partialImages === undefined ? {} : { partial_images: partialImages }),
      output_format: parameters.outputFormat,
      response_format: parameters.responseFormat,
    },
    data: generation.urls.map((url, index) => {
      const small = generation.previewUrls[index];
      return small ? { url, [preview]: small } : { url };
    }),
  };
}

function textRecord(generation: Generation, { line, state, costPicoUsd }: Text): TextRecord {
  return {
    ...sharedFields(generation),
    kind: "text",
    request: {},
    api: line === undefined ? null : line.api === TextApi.CHAT ? "chat" : "responses",
    stream: line?.stream ?? null,
    user: line?.userTag || null,
    first_byte_latency: numberOf(line?.firstByteMs),
    finish_reason: line?.finishReason || null,
    usage: line?.usage === undefined ? null : usageRecord(line.usage),
    unit_prices: null,
    upstream_cost: state === HoldState.OPEN ? null : formatPicoUsd(costPicoUsd),
  };
}

function sharedFields(generation: Generation) {
  const { createdAt, finishedAt, chargedCredits, error, attempts } = generation;
  return {
    id: generation.id,
    object: "generation" as const,
    status: nameOf(GENERATION_STATUS, generation.status),
    model: generation.model,
    api_key_id: generation.keyId,
    created_at: timeOf(createdAt),
    finished_at: finishedAt === undefined ? null : timeOf(finishedAt),
    latency: latencyOf(generation),
    provider: generation.provider || null,
    attempts: attempts.map(({ provider, upstreamModel, outcome, tookMs }) => {
      return { ...{ provider, model: upstreamModel, outcome }, latency: Number(tookMs) };
    }),
    timing: timingOf(generation),
    progress: generation.progress ?? null,
    data: [],
    error:
      error === undefined
        ? null
        : { message: error.message, type: error.type, ...(error.code === "" ? {} : { code: error.code }) },
    // Four decimals: the nearest double prints as exactly these.
    cost: chargedCredits === undefined ? null : Number(formatCredits(chargedCredits)),
    price_version: generation.priceVersion,
    deleted: generation.deleted,
    expired: generation.expired,
  };
}

function latencyOf({ createdAt, finishedAt }: Generation): number | null {
  return finishedAt === undefined ? null : Math.max(0, Number(finishedAt - createdAt));
}

function timingOf(generation: Generation): RequestRecord["timing"] {
  const { attempts, text, urls, deleted, expired, status } = generation;
  const last = attempts.at(-1);
  const [began, made] = [last?.beganMs, last?.madeMs];
  const isStored = status === GenerationStatus.SUCCEEDED && (urls.length > 0 || deleted || expired);
  return {
    queued: numberOf(attempts[0]?.beganMs),
    first_byte: numberOf(text?.line?.firstByteMs),
    made: began === undefined || made === undefined ? null : Number(began + made),
    stored: isStored ? latencyOf(generation) : null,
  };
}

function usageRecord(usage: TextUsage): NonNullable<TextRecord["usage"]> {
  const calls = Object.entries(usage.toolCalls).map(([call, count]) => [call, Number(count)]);
  return {
    input_tokens: Number(usage.inputTokens),
    output_tokens: Number(usage.outputTokens),
    cached_input_tokens: Number(usage.cachedInputTokens),
    cache_write_tokens: Number(usage.cacheWriteTokens),
    image_input_tokens: Number(usage.imageInputTokens),
    audio_input_tokens: Number(usage.audioInputTokens),
    reasoning_tokens: Number(usage.reasoningTokens),
    image_output_tokens: Number(usage.imageOutputTokens),
    audio_output_tokens: Number(usage.audioOutputTokens),
    tool_calls: Object.fromEntries(calls),
  };
}

function unitPricesOf(price: Price | undefined, { provider }: Text): Record<string, string> | null {
  return price?.rule.case === "token" ? unitPrices(tokenPriceAt(price.rule.value, provider)) : null;
}

/** Returns the price of each unit. Tools are named by the type of their calls. */
function unitPrices(price: TokenPrice): Record<string, string> {
  const rates = meterRatesOf(price);
  const prices: Record<string, bigint> = {
    request: price.requestPicoUsd,
    input_tokens: rates.input,
    output_tokens: rates.output,
    cached_input_tokens: rates.cachedInput,
    cache_write_tokens: rates.cacheWrite,
    image_input_tokens: rates.imageInput,
    audio_input_tokens: rates.audioInput,
    reasoning_tokens: rates.reasoning,
    image_output_tokens: rates.imageOutput,
    audio_output_tokens: rates.audioOutput,
  };
  const fees = price.toolFees.map(({ call, picoUsd }) => [call, picoUsd] as const);
  return Object.fromEntries(
    [...Object.entries(prices), ...fees].map(([unit, pico]) => [unit, formatPicoUsd(pico)]),
  );
}

export function nameOf<Name extends string>(names: Readonly<Record<Name, number>>, value: number): Name {
  const found = (Object.keys(names) as Name[]).find((name) => names[name] === value);
  if (found === undefined) throw new Error(`the log has an unknown value ${value}`);
  return found;
}

function timeOf(unixMs: bigint): string {
  return new Date(Number(unixMs)).toISOString();
}

function numberOf(value: bigint | undefined): number | null {
  return value === undefined ? null : Number(value);
}
