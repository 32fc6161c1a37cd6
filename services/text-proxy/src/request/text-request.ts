// TextRequest is a client's text request: the original bytes, and the few fields that routing, hold and bill need.
// Only fields of the specification are checked. All others are sent on unread.
import { refuseAmountNames } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { type FairWork, layoutOfLong, loopTurns, parseJsonBytes } from "@gr/runtime";
import { type FieldFound, findFields, MOST_FIELDS } from "@gr/text-upstream";
import { type ObjectLayout, scanObject } from "../json/json-members.ts";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { badField, readCount } from "./bad-field.ts";
import { InputMeter } from "./input-meter.ts";
import { ReadNames } from "./lookalikes.ts";
import { readItems, readMessages } from "./read-input.ts";

export type TextApi = "chat" | "responses";
export const TEXT_PATHS = {
  chat: "/v1/compat/chat/completions",
  responses: "/v1/compat/responses",
} as const satisfies Record<TextApi, string>;

export interface TextRequest {
  readonly api: TextApi;
  readonly model: string;
  readonly stream: boolean;
  /** The received bytes: valid UTF-8, valid JSON, an object, without duplicate members in any object. */
  readonly bytes: Buffer;
  readonly layout: ObjectLayout;
  readonly input: InputMeter;
  /** Number of requested answers; each has its own output. */
  readonly choices: number;
  /** The largest of the client's limits on output tokens. */
  readonly outputLimit: number | undefined;
  /** True if the request has a prediction. Its rejected tokens are billed as output. */
  readonly predicts: boolean;
  /** True if the answer includes each token's probability, and those of alternatives. */
  readonly logprobs: boolean;
  /** Tokens of thought that the request allows beyond its output limit. */
  readonly thinkingTokens: number;
  /** The client's limit on calls of tools that the provider runs. */
  readonly toolCallLimit: number | undefined;
  /** Fields that decide the price, and all fields with an unknown effect. */
  readonly fields: readonly FieldFound[];
  /** Form of `stream_options` in the body: spliced into, replaced or added. */
  readonly streamOptions: "absent" | "object" | "null";
}

/** More choices than any upstream accepts. */
const MOST_CHOICES = 128;
/** Far beyond every model, and far from where sums of money overflow. */
const MOST_OUTPUT_TOKENS = 100_000_000;
const MOST_TOOL_CALLS = 10_000;
/** The smallest thinking budget of any host (OpenRouter's documentation of reasoning tokens). */
const LEAST_THINKING = 1_024;
/** Size above which the parts of a body are visited only if its bytes have a mark of a cache or of sound. */
const FEW_BYTES = 65_536;
const MARKS = ["ttl", "input_audio", "\\u"].map((mark) => Buffer.from(mark));
const LONGEST_MARK = "input_audio".length;
/** Bytes that are searched in about a millisecond. */
const SEARCHED_AT_ONCE = 1024 * 1024;
const USUAL_LIFETIMES: ReadonlySet<string> = new Set(["5m", "30m"]);
export const LIMIT_FIELDS = {
  chat: ["max_tokens", "max_completion_tokens"],
  responses: ["max_output_tokens"],
} as const;

const BODY = new ReadNames(
  "model",
  "models",
  "messages",
  "input",
  "stream",
  "stream_options",
  "n",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "prediction",
  "background",
  "tools",
  "plugins",
  "web_search_options",
  "previous_response_id",
  "conversation",
  "prompt",
  "logprobs",
  "top_logprobs",
  "include",
  "service_tier",
  "speed",
  "provider",
  "modalities",
  "reasoning",
  "cache_control",
  "prompt_cache_options",
  "max_tool_calls",
  "preset",
  "route",
);
const STREAM_OPTIONS = new ReadNames("include_usage");

/**
 * @param hasMarks false if `mayHaveMarks` found none, so that the parts of a long body need no visit
 * @throws ServiceError invalid_json, invalid_value with the field at fault as param
 */
export function readTextRequest(api: TextApi, bytes: Buffer, hasMarks = true): TextRequest {
  const body = parseJsonBytes(bytes);
  if (!isObject(body)) throw new ServiceError("invalid_json", "The body must be a JSON object.");
  BODY.refuseLookalikes(body, "");
  refuseAmountNames(body);
  const model = body["model"];
  if (typeof model !== "string" || model === "") throw badField("model", "must be a non-empty string");
  const stream = body["stream"] ?? false;
  if (typeof stream !== "boolean") throw badField("stream", "must be true or false");
  refuseDetours(body);
  const input = new InputMeter(bytes.length);
  if (api === "chat") readMessages(body["messages"], input);
  else readItems(body["input"], input);
  input.addParameters(body);
  const fields = findFields(body, hasMarks);
  if (fields.length >= MOST_FIELDS) {
    throw new ServiceError("invalid_json", `The body has more than ${MOST_FIELDS} fields and tools.`);
  }
  input.longCache = fields.some(({ field, value }) => field.endsWith(".ttl") && !USUAL_LIFETIMES.has(value));
  return {
    api,
    model,
    stream,
    bytes,
    layout: layoutOfLong(bytes) ?? scanObject(bytes),
    input,
    choices: api === "chat" ? (readCount(body, "n", MOST_CHOICES) ?? 1) : 1,
    outputLimit: readOutputLimit(api, body),
    predicts: body["prediction"] != null,
    logprobs: asksForLogprobs(body),
    thinkingTokens: readThinking(body),
    toolCallLimit: body["max_tool_calls"] === 0 ? 0 : readCount(body, "max_tool_calls", MOST_TOOL_CALLS),
    fields,
    streamOptions: api === "chat" && stream ? readStreamOptions(body["stream_options"]) : "absent",
  };
}

/**
 * Returns true if parts of a body can have a mark of a cache or of sound. A search of the bytes is 30 times faster than
 * a visit to each part. An escape can hide any name. @param work its owner shares the loop with others
 */
export function mayHaveMarks(bytes: Buffer, work: FairWork): boolean | Promise<boolean> {
  if (bytes.length <= FEW_BYTES) return true;
  return bytes.length <= SEARCHED_AT_ONCE ? hasMark(bytes) : searchInTurns(bytes, work);
}

async function searchInTurns(bytes: Buffer, work: FairWork): Promise<boolean> {
  for (let at = 0; at < bytes.length; at += SEARCHED_AT_ONCE) {
    // A mark may be on both sides of the end.
    const slice = bytes.subarray(at, at + SEARCHED_AT_ONCE + LONGEST_MARK);
    if (await loopTurns.step({ ...work, cost: slice.length }, () => hasMark(slice))) return true;
  }
  return false;
}

function hasMark(bytes: Buffer): boolean {
  return MARKS.some((mark) => bytes.includes(mark));
}

/** Refuses fields for another model than the priced one, or for an answer at a later time. */
function refuseDetours(body: JsonObject): void {
  const { models, background } = body;
  if (models != null) throw badField("models", 'is not supported; name one model in "model"');
  if (background != null && background !== false) {
    throw badField("background", "must be false: answers are not kept for later");
  }
}

function readOutputLimit(api: TextApi, body: JsonObject): number | undefined {
  let largest: number | undefined;
  for (const name of LIMIT_FIELDS[api]) {
    const limit = readCount(body, name, MOST_OUTPUT_TOKENS);
    if (limit !== undefined && (largest === undefined || limit > largest)) largest = limit;
  }
  return largest;
}

/** Some hosts count thoughts apart from the output limit, and treat a small budget as their minimum. */
function readThinking({ reasoning, thinking }: JsonObject): number {
  const largest = Math.max(
    tokensOf(isObject(reasoning) ? reasoning["max_tokens"] : undefined),
    tokensOf(isObject(thinking) ? thinking["budget_tokens"] : undefined),
  );
  if (!(largest > 0)) return 0;
  return Math.min(Math.max(largest, LEAST_THINKING), MOST_OUTPUT_TOKENS);
}

function tokensOf(budget: unknown): number {
  return typeof budget === "number" ? Math.ceil(budget) : 0;
}

function asksForLogprobs({ logprobs, top_logprobs: others, include }: JsonObject): boolean {
  const included = Array.isArray(include) && include.includes("message.output_text.logprobs");
  return logprobs === true || others != null || included;
}

function readStreamOptions(value: unknown): TextRequest["streamOptions"] {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  if (isObject(value)) {
    STREAM_OPTIONS.refuseLookalikes(value, "stream_options");
    return "object";
  }
  throw badField("stream_options", "must be an object");
}
