// TextEntry is a text request in the log beside images and videos. Billing stores its line with its charge.
// Neither prompt nor answer is stored.
import { usageRecord } from "@gr/clients";
import type { Principal } from "@gr/identity";
import { tokenPriceAt } from "@gr/models";
import { formatCredits, formatPicoUsd } from "@gr/money";
import { isReason, ServiceError } from "@gr/proto";
import { HoldState, type Text, TextApi, type TextLogService } from "@gr/proto/billing";
import type { CatalogOperatorService, TokenPrice } from "@gr/proto/catalog";
import { renderError, type ServiceClient } from "@gr/runtime";
import { z } from "zod";
import type { LogFilter } from "./log-store.ts";

export interface TextLogDeps {
  readonly texts: ServiceClient<typeof TextLogService>;
  readonly prices: Pick<ServiceClient<typeof CatalogOperatorService>, "getPriceVersion">;
}

const time = () => z.string().meta({ format: "date-time" });
const STATES = {
  running: HoldState.OPEN,
  succeeded: HoldState.CAPTURED,
  failed: HoldState.RELEASED,
} as const;
const NO_TEXT: ReadonlySet<string> = new Set(["blocked", "cancelled"]);

const units = [
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "image_input_tokens",
  "audio_input_tokens",
  "reasoning_tokens",
  "image_output_tokens",
  "audio_output_tokens",
] as const;
type Unit = (typeof units)[number];

const usageSchema = z.object({
  ...(Object.fromEntries(units.map((unit) => [unit, z.int()])) as Record<Unit, z.ZodInt>),
  tool_calls: z.record(z.string(), z.int()),
});

export const textSchema = z.object({
  id: z.string().describe("the x-request-id of the request"),
  object: z.literal("generation"),
  status: z.enum(["running", "succeeded", "failed"]),
  kind: z.literal("text"),
  model: z.string(),
  api_key_id: z.string(),
  api: z.enum(["chat", "responses"]).nullable(),
  stream: z.boolean().nullable(),
  user: z.string().nullable().describe("the `user` of its body"),
  created_at: time(),
  finished_at: time().nullable(),
  latency: z.number().int().nullable().describe("milliseconds from its arrival to its end"),
  first_byte_latency: z.number().int().nullable().describe("milliseconds to the first byte of the stream"),
  finish_reason: z.string().nullable().describe("the provider's word"),
  attempts: z
    .array(
      z.object({
        provider: z.string(),
        model: z.string().describe("its name there"),
        outcome: z.string().describe("outcome: delivered, or the reason of the failure"),
        latency: z.number().int(),
      }),
    )
    .describe("all providers of the request, in order"),
  usage: usageSchema
    .nullable()
    .describe("metered units; parts, for example cached tokens, count within their whole"),
  price_version: z.string(),
  unit_prices: z
    .record(z.string(), z.string())
    .nullable()
    .describe("USD for one unit of each kind, as listed by the last provider at that time"),
  upstream_cost: z.string().nullable().describe("USD that the provider billed; null while it runs"),
  error: z
    .object({
      message: z.string(),
      type: z.string(),
      param: z.string().optional(),
      code: z.string().optional(),
    })
    .nullable()
    .describe("error that the client received"),
  cost: z.number().nullable().describe("USD charged; null while it runs"),
});
export type TextAnswer = z.infer<typeof textSchema>;

export const textPageSchema = z.object({
  object: z.literal("list"),
  data: z.array(textSchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

/** Returns the line of this key; undefined if the key has no such id. @throws ServiceError service_unavailable */
export async function findText(
  { texts, prices }: TextLogDeps,
  { accountId, keyId }: Principal,
  id: string,
): Promise<TextAnswer | undefined> {
  const { text } = await texts.findText({ accountId, spenderId: keyId, requestId: id });
  if (text === undefined) return undefined;
  // The price explains the charge. The entry is also correct without it.
  const found = await prices.getPriceVersion({ version: text.priceVersion }).catch(() => undefined);
  const rule = found?.price?.rule;
  return textAnswer(text, rule?.case === "token" ? rule.value : undefined);
}

/** @throws ServiceError invalid_value, service_unavailable */
export async function listTexts(
  { texts }: TextLogDeps,
  { accountId, keyId }: Principal,
  { model, status, createdAfter, createdBefore }: LogFilter,
  after: string | undefined,
  limit: number,
): Promise<z.infer<typeof textPageSchema>> {
  if (status !== undefined && NO_TEXT.has(status)) return pageOf([], false);
  const found = await texts.listTexts({
    accountId,
    spenderId: keyId,
    model: model ?? "",
    state: STATES[status as keyof typeof STATES] ?? HoldState.UNSPECIFIED,
    ...(createdAfter === undefined ? {} : { beganAfter: BigInt(createdAfter) }),
    ...(createdBefore === undefined ? {} : { beganBefore: BigInt(createdBefore) }),
    after: after ?? "",
    limit,
  });
  return pageOf(
    found.texts.map((text) => textAnswer(text, undefined)),
    found.hasMore,
  );
}

function pageOf(data: TextAnswer[], hasMore: boolean): z.infer<typeof textPageSchema> {
  return {
    object: "list",
    data,
    has_more: hasMore,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function textAnswer(text: Text, price: TokenPrice | undefined): TextAnswer {
  const { requestId: id, line, state, model, spenderId, provider, priceVersion } = text;
  const isOver = state !== HoldState.OPEN;
  const began = Number(line?.beganAt ?? text.placedAt);
  const { usage } = line ?? {};
  return {
    id,
    object: "generation",
    status: state === HoldState.OPEN ? "running" : state === HoldState.CAPTURED ? "succeeded" : "failed",
    kind: "text",
    model,
    api_key_id: spenderId,
    api: line === undefined ? null : line.api === TextApi.CHAT ? "chat" : "responses",
    stream: line?.stream ?? null,
    user: line?.userTag || null,
    created_at: new Date(began).toISOString(),
    finished_at: line === undefined ? null : new Date(began + Number(line.tookMs)).toISOString(),
    latency: line === undefined ? null : Number(line.tookMs),
    first_byte_latency: line?.firstByteMs === undefined ? null : Number(line.firstByteMs),
    finish_reason: line?.finishReason || null,
    attempts: (line?.attempts ?? []).map(({ provider, upstreamModel, outcome, tookMs }) => ({
      ...{ provider, model: upstreamModel, outcome },
      latency: Number(tookMs),
    })),
    usage: usage === undefined ? null : usageRecord(usage),
    price_version: priceVersion,
    unit_prices: price === undefined ? null : unitPrices(tokenPriceAt(price, provider)),
    upstream_cost: isOver ? formatPicoUsd(text.costPicoUsd) : null,
    error: line === undefined ? null : errorOf(line.errorReason, line.errorMessage, id),
    // Four decimals: the nearest double prints as exactly these.
    cost: isOver ? Number(formatCredits(text.chargedCredits)) : null,
  };
}

/**
 * Returns the price of each unit. Tools are named by the type of their calls. A part without
 * its own price has its whole's.
 */
function unitPrices(price: TokenPrice): Record<string, string> {
  const { inputPicoUsd: input, outputPicoUsd: output } = price;
  const prices: Record<Unit | "request", bigint> = {
    request: price.requestPicoUsd,
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: price.cachedInputPicoUsd ?? input,
    cache_write_tokens: price.cacheWritePicoUsd ?? input,
    image_input_tokens: price.imageInputPicoUsd ?? input,
    audio_input_tokens: price.audioInputPicoUsd ?? input,
    reasoning_tokens: price.reasoningPicoUsd ?? output,
    image_output_tokens: price.imageOutputPicoUsd ?? output,
    audio_output_tokens: price.audioOutputPicoUsd ?? output,
  };
  const fees = price.toolFees.map(({ call, picoUsd }) => [call, picoUsd] as const);
  return Object.fromEntries(
    [...Object.entries(prices), ...fees].map(([unit, pico]) => [unit, formatPicoUsd(pico)]),
  );
}

function errorOf(reason: string, message: string, id: string): TextAnswer["error"] {
  if (!isReason(reason)) return null;
  return renderError(new ServiceError(reason, message), id).body.error;
}
